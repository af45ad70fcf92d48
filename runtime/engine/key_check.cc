// Recomputes keys and lineages.
#include "runtime/engine/key_check.h"

#include <algorithm>

#include "runtime/engine/recorded_choices.h"
#include "runtime/engine/task_key.h"
#include "runtime/store/bundle_rows.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/schema.h"

namespace rlflow {
namespace {

struct Recorded {
  Database& database;
  const Plan& plan;
  const StepGraph& graph;
  std::uint64_t seed;
  const InitDigest& init_digest;
};

std::optional<NodeId> find_node(const Plan& plan, const std::string& name) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].name == name) return NodeId(i);
  }
  return std::nullopt;
}

// The schema knows both tasks of an edge, not their ports.
bool edge_exists(const Recorded& recorded, const PlanNode& node, const Edge& edge) {
  auto source = find_task(recorded.database, edge.source);
  auto outputs = source ? outputs_of(recorded.database, source->row).size() : 0;
  bool port = edge.port >= kCarriedPort && edge.port < static_cast<std::int32_t>(node.inputs.size());
  return port && edge.source_port >= 0 && edge.source_port < static_cast<std::int32_t>(outputs);
}

std::string problem_of(const Recorded& recorded, const TaskRow& row) {
  std::string name = "task `" + to_text(row.task) + "`";
  auto node = find_node(recorded.plan, row.task.node);
  if (!node) return name + " is of no node of the program";
  TaskId task{*node, row.task.step};
  std::vector<Edge> edges = edges_of(recorded.database, row.row);
  const PlanNode& plan_node = recorded.plan.nodes[node->index()];
  for (const Edge& edge : edges) {
    if (!edge_exists(recorded, plan_node, edge)) return name + " has an input that its node does not take";
  }
  if (plan_node.model.valid()) {
    Version version = recorded.graph.version_read(*node, task.step);
    auto read = read_of(recorded.database, row.row);
    if (!read || read->version != version) return name + " did not read the version that the program gives it";
  }
  auto inits = inits_of(recorded.plan, task, edges, recorded.init_digest);
  if (task_key(recorded.database, recorded.plan, recorded.graph, recorded.seed, task, edges, inits) == row.key)
    return {};
  return name + " has another key than its settings, inputs and model give";
}

void check_lineages(const Recorded& recorded, KeyReport& report) {
  Statement rows = recorded.database.prepare(
      "SELECT v.model,version,outcome,wdigest,lineage,key,(SELECT lineage FROM versions AS p WHERE p.model=v.model "
      "AND p.version=v.parent) FROM versions AS v LEFT JOIN tasks ON id=update_task WHERE version>0");
  while (rows.step()) {
    ++report.compared;
    Digest lineage = rows.digest_at(4);
    bool held = rows.text_at(2) == "held" && rows.null_at(5);
    bool right = held ? lineage == rows.optional_digest_at(6)
                      : !rows.null_at(5) && lineage == next_lineage(rows.digest_at(5), rows.weights_digest_at(3));
    if (right) continue;
    report.problems.push_back("version " + std::to_string(rows.int_at(1)) + " of `" + rows.text_at(0) +
                              "` has another lineage than its update gives");
  }
}

}  // namespace

std::map<std::int32_t, Digest> inits_of(const Plan& plan, TaskId task, const std::vector<Edge>& edges,
                                        const InitDigest& init_digest) {
  std::map<std::int32_t, Digest> inits;
  const PlanNode& node = plan.nodes[task.node.index()];
  for (std::size_t port = 0; port < node.inputs.size(); ++port) {
    if (!node.inputs[port].node.valid() || !node.inputs[port].previous_step) continue;
    auto number = static_cast<std::int32_t>(port);
    if (std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) { return edge.port == number; })) continue;
    inits[number] = init_digest(node.inputs[port].init);
  }
  return inits;
}

KeyReport check_keys(const std::filesystem::path& run_dir, const Plan& plan, const InitDigest& init_digest) {
  Database database(run_dir / kDatabaseName, Database::Mode::read);
  check_schema(database);
  Snapshot snapshot(database);
  StepGraph graph(plan);
  choose_as_recorded(database, plan, graph);
  Recorded recorded{database, plan, graph, recorded_run(database).seed, init_digest};
  KeyReport report;
  auto bundled = bundled_task(database);
  // What a fork's parent made has the keys of the parent's program.
  for (const TaskRow& row : tasks_after(database, inherited_step(database))) {
    // Of a bundle, one task alone has its inputs recorded.
    if (row.state != "done" || (bundled && row.task != *bundled)) continue;
    ++report.compared;
    std::string problem = problem_of(recorded, row);
    if (!problem.empty()) report.problems.push_back(problem);
  }
  check_lineages(recorded, report);
  return report;
}

}  // namespace rlflow
