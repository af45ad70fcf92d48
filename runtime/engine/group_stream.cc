// Early work on prompt groups.
#include "runtime/engine/group_stream.h"

#include <algorithm>

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

bool may_follow(const PlanNode& node, const StepGraph& graph, NodeId id) {
  return !node.group.valid() && !node.model.valid() && !graph.in_block(id) && node.from <= 1;
}

}  // namespace

GroupStream::GroupStream(const Plan& plan, const StepGraph& graph, const std::vector<std::unique_ptr<Node>>& nodes)
    : plan_(plan), emits_(plan.nodes.size(), false) {
  std::vector<bool> streams(plan.nodes.size(), false);
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    if (!nodes[i]) continue;
    emits_[i] = nodes[i]->emits_groups() && !graph.in_block(NodeId(i));
    streams[i] = emits_[i];
    if (!nodes[i]->works_by_group() || !may_follow(node, graph, NodeId(i))) continue;
    bool fed = false, all = true;
    for (const PlanInput& input : node.inputs) {
      if (!input.node.valid()) continue;
      bool streamed = !input.previous_step && input.metric.empty() && streams[input.node.index()];
      fed = fed || streamed;
      all = all && streamed;
    }
    if (!fed || !all) continue;
    streams[i] = true;
    followers_.push_back(NodeId(i));
  }
}

void GroupStream::emitted(TaskId task, std::int32_t attempt, std::int32_t group, Outputs outputs) {
  std::lock_guard lock(mutex_);
  emissions_.push_back({task, attempt, group, std::move(outputs)});
}

void GroupStream::take_emissions() {
  std::vector<Emission> taken;
  {
    std::lock_guard lock(mutex_);
    taken.swap(emissions_);
  }
  for (Emission& emission : taken) {
    Progress& progress = progress_[{emission.task.node, emission.task.step}];
    if (emission.attempt < progress.attempt) continue;
    if (emission.attempt > progress.attempt) {
      progress.attempt = emission.attempt;
      progress.given.clear();
      forget_followers(emission.task.node, emission.task.step);
    }
    if (emission.group != kWholeBatch) progress.given[emission.group] = std::move(emission.outputs);
  }
}

// What came of an attempt that failed is dropped with it.
void GroupStream::forget_followers(NodeId node, Step step) {
  for (NodeId follower : followers_) {
    const auto& inputs = plan_.nodes[follower.index()].inputs;
    if (std::none_of(inputs.begin(), inputs.end(), [&](const PlanInput& input) { return input.node == node; }))
      continue;
    Progress& progress = progress_[{follower, step}];
    progress.given.clear();
    progress.done.clear();
    auto running = busy_.find(follower);
    if (running != busy_.end() && running->second.step == step && running->second.group != kWholeBatch) {
      stale_.insert(running->second);
    }
    forget_followers(follower, step);
  }
}

bool GroupStream::has_inputs(const TaskId& early) const {
  for (const PlanInput& input : plan_.nodes[early.node.index()].inputs) {
    if (!input.node.valid()) continue;
    auto source = progress_.find({input.node, early.step});
    if (source == progress_.end() || !source->second.given.contains(early.group)) return false;
  }
  return true;
}

// The oldest step's lowest group that can be worked on.
std::optional<TaskId> GroupStream::next_of(NodeId node) const {
  const auto& inputs = plan_.nodes[node.index()].inputs;
  auto fed = std::find_if(inputs.begin(), inputs.end(), [](const PlanInput& input) { return input.node.valid(); });
  for (auto source = progress_.lower_bound({fed->node, 0}); source != progress_.end(); ++source) {
    const auto& [key, progress] = *source;
    if (key.first != fed->node) break;
    auto own = progress_.find({node, key.second});
    if (own != progress_.end() && own->second.closed) continue;
    for (const auto& [group, outputs] : progress.given) {
      TaskId early{node, key.second, group};
      bool done = own != progress_.end() && own->second.done.contains(group);
      if (!done && has_inputs(early)) return early;
    }
  }
  return std::nullopt;
}

std::vector<TaskId> GroupStream::take_ready() {
  std::vector<TaskId> ready;
  for (NodeId node : followers_) {
    if (busy_.contains(node)) continue;
    auto early = next_of(node);
    if (!early) continue;
    busy_[node] = *early;
    ++running_;
    ready.push_back(*early);
  }
  return ready;
}

std::vector<PayloadPtr> GroupStream::inputs_of(const TaskId& early) const {
  std::vector<PayloadPtr> payloads;
  for (const PlanInput& input : plan_.nodes[early.node.index()].inputs) {
    payloads.push_back(
        input.node.valid()
            ? progress_.at({input.node, early.step}).given.at(early.group).at(static_cast<std::size_t>(input.port))
            : nullptr);
  }
  return payloads;
}

void GroupStream::ended(const TaskId& early, std::shared_ptr<const TaskResult> result) {
  auto running = busy_.find(early.node);
  RLFLOW_CHECK(running != busy_.end() && running->second == early, "early work that does not run has ended");
  busy_.erase(running);
  --running_;
  if (stale_.erase(early) > 0) return;
  Progress& progress = progress_[{early.node, early.step}];
  if (!result) {
    progress.closed = true;
    return;
  }
  progress.given[early.group] = result->outputs;
  progress.done[early.group] = std::move(result);
}

bool GroupStream::begin_whole(TaskId whole) {
  if (std::find(followers_.begin(), followers_.end(), whole.node) == followers_.end()) return true;
  progress_[{whole.node, whole.step}].closed = true;
  return busy_.try_emplace(whole.node, whole).second;
}

void GroupStream::end_whole(TaskId whole) {
  auto running = busy_.find(whole.node);
  if (running != busy_.end() && running->second == whole) busy_.erase(running);
}

std::vector<std::shared_ptr<const TaskResult>> GroupStream::take_early(TaskId whole) {
  std::vector<std::shared_ptr<const TaskResult>> early;
  auto found = progress_.find({whole.node, whole.step});
  if (found == progress_.end()) return early;
  for (auto& [group, result] : found->second.done) {
    if (early.size() <= static_cast<std::size_t>(group)) early.resize(static_cast<std::size_t>(group) + 1);
    early[static_cast<std::size_t>(group)] = result;
  }
  return early;
}

void GroupStream::forget_through(Step step) {
  std::erase_if(progress_, [step](const auto& entry) { return entry.first.second <= step; });
}

}  // namespace rlflow
