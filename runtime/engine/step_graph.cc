// Tasks of a step and their order.
#include "runtime/engine/step_graph.h"

#include <algorithm>
#include <string>

#include "runtime/contract/check.h"

namespace rlflow {

StepGraph::StepGraph(const Plan& plan)
    : plan_(plan), updates_(plan.models.size()), keeps_last_value_(plan.nodes.size(), false) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    NodeId id(i);
    if (is_update(id)) updates_[node.model.index()] = id;
    if (node.replica.valid() && !node.schedule) lag_ = std::max(lag_, plan.replicas[node.replica.index()].lag);
    for (const PlanInput& input : node.inputs) {
      if (input.node.valid() && input.previous_step) keeps_last_value_[input.node.index()] = true;
    }
    for (const PlanOutput& output : node.outputs) {
      if (output.type.kind == Kind::cursor) keeps_last_value_[i] = true;
    }
  }
}

bool StepGraph::due(NodeId node, Step step) const {
  const auto& schedule = plan_.nodes[node.index()].schedule;
  if (!schedule) return step >= 1;
  if (step == 0) return schedule->at_start;
  return step % schedule->every == 0 || step == plan_.stop_after;
}

bool StepGraph::skipped(NodeId node, Step step) const {
  const PlanNode& plan_node = plan_.nodes[node.index()];
  return step < plan_node.from && !(step == 0 && plan_node.schedule && plan_node.from <= 1);
}

bool StepGraph::in_block(NodeId node) const { return plan_.nodes[node.index()].schedule.has_value(); }
bool StepGraph::is_update(NodeId node) const { return plan_.nodes[node.index()].op == "update"; }
bool StepGraph::is_checkpoint(NodeId node) const { return plan_.nodes[node.index()].op == "checkpoint"; }
bool StepGraph::keeps_last_value(NodeId node) const { return keeps_last_value_[node.index()]; }

std::vector<ModelId> StepGraph::versioned_models() const {
  std::vector<ModelId> models;
  for (std::size_t i = 0; i < updates_.size(); ++i) {
    if (updates_[i].valid()) models.push_back(ModelId(i));
  }
  return models;
}

bool StepGraph::reads_copy(NodeId node) const {
  const PlanNode& plan_node = plan_.nodes[node.index()];
  return plan_node.replica.valid() && !plan_.replicas[plan_node.replica.index()].in_place;
}

bool StepGraph::chooses(NodeId node) const {
  const PlanNode& plan_node = plan_.nodes[node.index()];
  return reads_copy(node) && !in_block(node) && versioned(plan_node.model) &&
         plan_.replicas[plan_node.replica.index()].lag_at_most;
}

bool StepGraph::has_chosen(NodeId node, Step step) const {
  const std::lock_guard lock(choices_->mutex);
  return choices_->versions.contains({plan_.nodes[node.index()].replica, step});
}

bool StepGraph::may_choose(NodeId node, Step step, Version version) const {
  if (!chooses(node)) return false;
  const PlanReplica& replica = plan_.replicas[plan_.nodes[node.index()].replica.index()];
  return version % replica.every == 0 && version >= replica_version(replica, step) && version < step;
}

void StepGraph::choose(NodeId node, Step step, Version version) {
  RLFLOW_CHECK(may_choose(node, step, version),
               "`" + plan_.nodes[node.index()].name + "` may not read version " + std::to_string(version));
  const std::lock_guard lock(choices_->mutex);
  choices_->versions[{plan_.nodes[node.index()].replica, step}] = version;
}

Version StepGraph::version_read(NodeId node, Step step) const {
  const PlanNode& plan_node = plan_.nodes[node.index()];
  if (!plan_node.model.valid() || !versioned(plan_node.model)) return 0;
  if (in_block(node)) return step;
  if (chooses(node)) {
    const std::lock_guard lock(choices_->mutex);
    auto chosen = choices_->versions.find({plan_node.replica, step});
    if (chosen != choices_->versions.end()) return chosen->second;
  }
  if (plan_node.replica.valid()) return replica_version(plan_.replicas[plan_node.replica.index()], step);
  return step - 1;
}

std::vector<ReplicaId> StepGraph::copies_of(ModelId model, Version version) const {
  std::vector<ReplicaId> replicas;
  for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
    const PlanNode& node = plan_.nodes[i];
    if (node.model != model || !reads_copy(NodeId(i))) continue;
    const PlanReplica& replica = plan_.replicas[node.replica.index()];
    bool read = in_block(NodeId(i)) ? due(NodeId(i), version) : version % replica.every == 0;
    if (!versioned(model)) read = version == 0;
    if (read && std::find(replicas.begin(), replicas.end(), node.replica) == replicas.end()) {
      replicas.push_back(node.replica);
    }
  }
  return replicas;
}

Version StepGraph::oldest_version_read(ModelId model, Step first) const {
  if (!versioned(model)) return 0;
  Version oldest = std::max<Version>(first - 1, 0);
  for (const PlanNode& node : plan_.nodes) {
    if (node.model != model || !node.replica.valid() || node.schedule) continue;
    oldest = std::min(oldest, replica_version(plan_.replicas[node.replica.index()], first));
  }
  return oldest;
}

std::optional<TaskId> StepGraph::newest_before(NodeId node, Step step) const {
  for (Step earlier = step - 1; earlier >= 0; --earlier) {
    if (due(node, earlier)) return TaskId{node, earlier};
  }
  return std::nullopt;
}

// Whether a task of `node` uses the weights of `model` where they stand, so that they must not move under it.
bool StepGraph::reads_live(NodeId node, ModelId model) const {
  if (is_checkpoint(node)) return true;  // holds every trainable model
  return plan_.nodes[node.index()].model == model && !is_update(node) && !reads_copy(node);
}

std::vector<TaskId> StepGraph::prerequisites(NodeId node, Step step) const {
  const PlanNode& plan_node = plan_.nodes[node.index()];
  std::vector<TaskId> tasks;
  auto add = [&](const std::optional<TaskId>& task) {
    if (task && task->step >= 0 && due(task->node, task->step)) tasks.push_back(*task);
  };
  // One node object runs one task at a time, and its last value is that of the step before.
  add(newest_before(node, step));
  if (!skipped(node, step)) {
    for (const PlanInput& input : plan_node.inputs) {
      if (!input.node.valid()) continue;
      add(input.previous_step ? newest_before(input.node, step) : TaskId{input.node, step});
    }
    for (ModelId model : versioned_models()) {
      bool reads = is_checkpoint(node) || (plan_node.model == model && !is_update(node));
      Version version = is_checkpoint(node) ? step : version_read(node, step);
      if (reads && version > 0) add(TaskId{update_of(model), version});
    }
  }
  if (!is_update(node)) return tasks;
  // A held update waits for the readers too, so that the next one need look no further back than its own step.
  for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
    NodeId reader(i);
    if (reads_live(reader, plan_node.model)) add(TaskId{reader, in_block(reader) ? step - 1 : step});
  }
  return tasks;
}

}  // namespace rlflow
