// Admission and readiness of tasks.
#include "runtime/engine/schedule.h"

#include <algorithm>

#include "runtime/contract/check.h"

namespace rlflow {

Schedule::Schedule(const Plan& plan, const StepGraph& graph, Step committed)
    : plan_(plan),
      graph_(graph),
      next_(committed + 1),
      oldest_(committed + 1),
      group_busy_(plan.groups.size(), false) {}

bool Schedule::flow_finished(Step step) const {
  auto found = steps_.find(step);
  return step < oldest_ || (found != steps_.end() && found->second.unfinished_flow == 0);
}

std::optional<Step> Schedule::admit(Step durable) {
  const Step window = graph_.lag() + 1;
  if (next_ > plan_.stop_after) return std::nullopt;
  if (next_ >= window && !flow_finished(next_ - window)) return std::nullopt;
  // What is not durable yet stays in memory, so it is bounded too.
  if (next_ - window - 1 > durable) return std::nullopt;
  Step step = next_++;
  StepState& state = steps_[step];
  for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
    if (!graph_.due(NodeId(i), step)) continue;
    TaskId id{NodeId(i), step};
    state.tasks.push_back(id);
    tasks_[id];
    ++state.unfinished;
    if (!graph_.in_block(id.node)) ++state.unfinished_flow;
  }
  for (const TaskId& id : state.tasks) {
    Task& task = tasks_[id];
    for (const TaskId& first : graph_.prerequisites(id.node, step)) {
      auto found = tasks_.find(first);
      if (found == tasks_.end() || found->second.state == State::finished) continue;
      if (task.waits_for.insert(first).second) found->second.awaited_by.push_back(id);
    }
    if (task.waits_for.empty()) task.state = State::ready;
  }
  return step;
}

bool Schedule::needs_group(const TaskId& task) const {
  if (graph_.is_checkpoint(task.node)) return false;
  if (graph_.skipped(task.node, task.step) && !graph_.is_update(task.node)) return false;
  return plan_.nodes[task.node.index()].group.valid();
}

std::vector<TaskId> Schedule::take_ready() {
  std::vector<TaskId> ready;
  for (const auto& [id, task] : tasks_) {
    if (task.state == State::ready) ready.push_back(id);
  }
  std::sort(ready.begin(), ready.end(),
            [](const TaskId& a, const TaskId& b) { return a.step != b.step ? a.step < b.step : a.node < b.node; });
  std::vector<TaskId> started;
  for (const TaskId& id : ready) {
    if (needs_group(id)) {
      std::size_t group = plan_.nodes[id.node.index()].group.index();
      if (group_busy_[group]) continue;
      group_busy_[group] = true;
    }
    tasks_[id].state = State::running;
    ++running_;
    started.push_back(id);
  }
  return started;
}

void Schedule::leave_group(const TaskId& id) {
  --running_;
  if (needs_group(id)) group_busy_[plan_.nodes[id.node.index()].group.index()] = false;
}

void Schedule::give_up(TaskId id) {
  Task& task = tasks_.at(id);
  RLFLOW_CHECK(task.state == State::running, name(id) + " does not run");
  leave_group(id);
  task.state = State::waiting;
}

void Schedule::finish(TaskId id) {
  Task& task = tasks_.at(id);
  RLFLOW_CHECK(task.state != State::finished, name(id) + " ended twice");
  if (task.state == State::running) leave_group(id);
  for (const TaskId& first : task.waits_for) {
    auto& awaited = tasks_.at(first).awaited_by;
    awaited.erase(std::remove(awaited.begin(), awaited.end(), id), awaited.end());
  }
  task.waits_for.clear();
  task.state = State::finished;
  StepState& step = steps_.at(id.step);
  --step.unfinished;
  if (!graph_.in_block(id.node)) --step.unfinished_flow;
  for (const TaskId& next : task.awaited_by) {
    Task& waiting = tasks_.at(next);
    waiting.waits_for.erase(id);
    if (waiting.waits_for.empty() && waiting.state == State::waiting) waiting.state = State::ready;
  }
  task.awaited_by.clear();
}

std::vector<Step> Schedule::take_finished_steps() {
  std::vector<Step> finished;
  while (!steps_.empty() && steps_.begin()->second.unfinished == 0) {
    auto first = steps_.begin();
    for (const TaskId& task : first->second.tasks) tasks_.erase(task);
    finished.push_back(first->first);
    oldest_ = first->first + 1;
    steps_.erase(first);
  }
  return finished;
}

bool Schedule::all_finished() const { return next_ > plan_.stop_after && steps_.empty(); }

std::vector<TaskId> Schedule::unfinished() const {
  std::vector<TaskId> tasks;
  for (const auto& [id, task] : tasks_) {
    if (task.state != State::finished) tasks.push_back(id);
  }
  return tasks;
}

std::string Schedule::name(const TaskId& task) const {
  return plan_.nodes[task.node.index()].name + ":" + std::to_string(task.step);
}

std::vector<std::string> Schedule::waiting() const {
  std::vector<std::string> lines;
  for (const auto& [id, task] : tasks_) {
    if (task.state == State::running && graph_.is_checkpoint(id.node))
      lines.push_back(name(id) + " waits for the disk");
    if (task.state == State::ready) lines.push_back(name(id) + " waits for its group");
    if (task.state != State::waiting) continue;
    std::string line = name(id) + " waits for";
    for (const TaskId& first : task.waits_for) line += " " + name(first);
    lines.push_back(line);
  }
  return lines;
}

}  // namespace rlflow
