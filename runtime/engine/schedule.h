// Which task may run next? A state machine without threads: tasks wait for counts, steps for room in the window.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/engine/step_graph.h"

namespace rlflow {

// Steps are admitted in order, at most lag + 1 of them with unfinished flow; tasks of a step start when what they
// wait for has ended and their group is free, those of older steps first. Not thread-safe: one serial caller.
class Schedule {
 public:
  // `committed` is the last step that is durable, -1 for a run that begins.
  Schedule(const Plan& plan, const StepGraph& graph, Step committed);

  // Admits the next step if the window has room; `durable` is the newest durable step. Its tasks, in plan order.
  std::optional<Step> admit(Step durable);
  const std::vector<TaskId>& tasks_of(Step step) const { return steps_.at(step).tasks; }

  // Tasks to start now; they count as running from here on. A skipped task and a checkpoint need no group.
  std::vector<TaskId> take_ready();
  // A running task ended; or one that never ran, of a step just admitted, was answered from the store.
  void finish(TaskId task);
  // A running task ended without a result: it counts as running no more and will not start again.
  void give_up(TaskId task);

  // Steps all of whose tasks have ended and that were not taken yet, in order.
  std::vector<Step> take_finished_steps();
  std::size_t running() const { return running_; }
  bool all_finished() const;                // up to the last step
  Step next_step() const { return next_; }  // the next to be admitted
  std::vector<TaskId> unfinished() const;
  // One line for each task that waits: "update:3 waits for evaluate:2". For a person whose run stands still; who
  // runs, and for how long, the watchdog knows.
  std::vector<std::string> waiting() const;

 private:
  enum class State { waiting, ready, running, finished };
  struct Task {
    State state = State::waiting;
    std::set<TaskId> waits_for;
    std::vector<TaskId> awaited_by;
  };
  struct StepState {
    std::vector<TaskId> tasks;
    std::size_t unfinished = 0;
    std::size_t unfinished_flow = 0;
  };

  bool needs_group(const TaskId& task) const;
  void leave_group(const TaskId& id);
  bool flow_finished(Step step) const;
  std::string name(const TaskId& task) const;

  const Plan& plan_;
  const StepGraph& graph_;
  Step next_;
  Step oldest_;                      // oldest step that was not taken as finished
  std::map<TaskId, Task> tasks_;     // of the steps in steps_
  std::map<Step, StepState> steps_;  // admitted and not taken as finished
  std::vector<bool> group_busy_;
  std::size_t running_ = 0;
};

}  // namespace rlflow
