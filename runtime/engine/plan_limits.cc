// Plans that the compiler can make and this engine cannot execute.
#include <algorithm>
#include <set>

#include "runtime/contract/check.h"
#include "runtime/engine/step_graph.h"

namespace rlflow {
namespace {

Outcome refusal(NodeId node, const std::string& message, const std::string& help) {
  return {ExitCode::no, "R0301", message, help, node};
}

// A task of step 1 that waits for itself: a reader of a model needs what the model's update of the same step makes.
std::optional<NodeId> waits_for_itself(const Plan& plan) {
  StepGraph graph(plan);
  Step step = 1;
  for (const PlanNode& node : plan.nodes) step = std::max(step, node.from);  // a step without skipped nodes
  std::set<NodeId> finished;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      NodeId id(i);
      if (finished.contains(id) || graph.in_block(id)) continue;
      std::vector<TaskId> first = graph.prerequisites(id, step);
      bool ready = std::all_of(first.begin(), first.end(), [&](const TaskId& task) {
        return task.step < step || graph.in_block(task.node) || finished.contains(task.node);
      });
      if (ready) moved = finished.insert(id).second || moved;
    }
  }
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (!finished.contains(NodeId(i)) && !graph.in_block(NodeId(i))) return NodeId(i);
  }
  return std::nullopt;
}

std::optional<Outcome> refuse_node(const Plan& plan, NodeId id) {
  const PlanNode& node = plan.nodes[id.index()];
  if (node.op != "update") return std::nullopt;
  if (node.schedule) {
    return refusal(id, "an update inside `every` cannot be executed yet", "move `" + node.name + "` into the flow");
  }
  for (std::size_t i = 0; i < id.index(); ++i) {
    if (plan.nodes[i].op == "update" && plan.nodes[i].model == node.model) {
      return refusal(id, "`" + plan.models[node.model.index()].name + "` is updated twice in a step",
                     "leave one of the updates out");
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Outcome> refuse_plan(const Plan& plan) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    RLFLOW_CHECK(names.insert(node.name).second, "two nodes are called `" + node.name + "`");
    RLFLOW_CHECK(node.op != "update" || node.model.valid(), "`" + node.name + "` updates no model");
    RLFLOW_CHECK(!node.schedule || node.schedule->every >= 1, "`" + node.name + "` has no period");
    if (auto refused = refuse_node(plan, NodeId(i))) return refused;
  }
  if (auto node = waits_for_itself(plan)) {
    return refusal(*node, "`" + plan.nodes[node->index()].name + "` waits for an update that waits for it",
                   "read the update's result of the last step: `prev(…, init=…)`");
  }
  return std::nullopt;
}

}  // namespace rlflow
