// Keys of tasks and lineages of versions.
#include "runtime/engine/task_key.h"

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// Those that a result depends on: a resume may change the others.
Attributes deciding(Attributes settings, const std::vector<std::string>& free) {
  for (const std::string& name : free) settings.erase(name);
  return settings;
}

void add_declarations(Hasher& hasher, const Plan& plan, const PlanNode& node) {
  if (node.data.valid()) {
    const PlanData& data = plan.data[node.data.index()];
    hasher.field("data").field(data.source).field(data.argument).field(to_text(data.settings));
  }
  if (node.reward.valid()) {
    const PlanReward& reward = plan.rewards[node.reward.index()];
    hasher.field("reward").field(reward.source).field(reward.argument);
    hasher.field(to_text(deciding(reward.settings, reward.free_settings)));
  }
  if (node.replica.valid()) {
    hasher.field("replica").field(dtype_name(plan.replicas[node.replica.index()].dtype));
  }
  if (node.group.valid()) {
    const PlanGroup& group = plan.groups[node.group.index()];
    hasher.field("group").field(group.device == DeviceKind::cpu ? "cpu" : "gpu");
    hasher.field(std::int64_t{group.threads}).field(std::int64_t{group.tp}).field(std::int64_t{group.dp});
  }
}

void add_model(Hasher& hasher, Database& database, const Plan& plan, const StepGraph& graph, TaskId task) {
  const PlanNode& node = plan.nodes[task.node.index()];
  if (!node.model.valid()) return;
  const PlanModel& model = plan.models[node.model.index()];
  auto version = find_version(database, model.name, graph.version_read(task.node, task.step));
  RLFLOW_CHECK(version, "`" + model.name + "` has no version that " + node.name + " could have read");
  hasher.field("model").field(dtype_name(model.dtype)).field(std::int64_t{static_cast<int>(model.head)});
  hasher.field(to_text(model.settings));
  if (graph.is_update(task.node)) {
    hasher.field(version->lineage);
    if (model.optim) hasher.field(to_text(Value(*model.optim)));
  } else {
    hasher.field(hex(version->weights));
  }
}

}  // namespace

Digest task_key(Database& database, const Plan& plan, const StepGraph& graph, std::uint64_t seed, TaskId task,
                std::span<const Edge> edges, const std::map<std::int32_t, Digest>& inits) {
  const PlanNode& node = plan.nodes[task.node.index()];
  Hasher hasher;
  hasher.field("rlflow.key/1").field(node.name).field(node.signature).field(std::int64_t{node.op_version});
  hasher.field(to_text(node.constants)).field(to_text(deciding(node.settings, node.free_settings)));
  hasher.field(task.step).field(std::int64_t{0}).field(static_cast<std::int64_t>(seed));
  if (node.on_failure == OnFailure::drop_group) hasher.field("drop_group");  // may leave a part of the result out
  add_declarations(hasher, plan, node);
  add_model(hasher, database, plan, graph, task);
  std::map<std::int32_t, Digest> inputs = inits;
  for (const Edge& edge : edges) {
    auto source = find_task(database, edge.source);
    RLFLOW_CHECK(source, to_text(edge.source) + " is not recorded");
    inputs[edge.port] = outputs_of(database, source->row).at(static_cast<std::size_t>(edge.source_port)).digest;
  }
  for (const auto& [port, digest] : inputs) {
    hasher.field(std::int64_t{port}).field(digest);
    if (port >= 0 && !node.inputs.at(static_cast<std::size_t>(port)).metric.empty())
      hasher.field(node.inputs[static_cast<std::size_t>(port)].metric);
  }
  return hasher.finish();
}

Digest first_lineage(const PlanModel& model, const WeightsDigest& weights) {
  Hasher hasher;
  hasher.field("rlflow.lineage/1").field(hex(weights));
  hasher.field(model.optim ? to_text(Value(*model.optim)) : std::string());
  return hasher.finish();
}

Digest next_lineage(const Digest& update_key, const WeightsDigest& weights) {
  Hasher hasher;
  hasher.field("rlflow.lineage/1").field(update_key).field(hex(weights));
  return hasher.finish();
}

}  // namespace rlflow
