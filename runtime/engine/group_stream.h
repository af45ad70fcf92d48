// Which prompt groups can go on before their batch is whole? Early work between a node that emits groups and those
// after it that work by group.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"
#include "runtime/engine/step_graph.h"

namespace rlflow {

// Early work makes no result of its own: the whole task of a node starts as it would without it, takes over what was
// done and does the rest. So nothing here is recorded, and what is lost by a kill, a failure or another attempt at the
// rollout is only time. `attempt_began` and `emitted` may be called by any thread, the rest by the one serial caller.
class GroupStream {
 public:
  using Outputs = std::vector<PayloadPtr>;
  // A node takes part if it works by group, needs neither device group nor model, runs in every step, and each of its
  // inputs comes from a node that emits or takes part.
  GroupStream(const Plan& plan, const StepGraph& graph, const std::vector<std::unique_ptr<Node>>& nodes);

  bool emits(NodeId node) const { return emits_[node.index()]; }

  // What an earlier attempt emitted is of no use any more.
  void attempt_began(TaskId task, std::int32_t attempt) { emitted(task, attempt, kWholeBatch, {}); }
  void emitted(TaskId task, std::int32_t attempt, std::int32_t group, Outputs outputs);

  // What was said by other threads until now counts from here on. First of all, so that nothing of an attempt that
  // failed is taken over by a task that starts because the next attempt has ended.
  void take_emissions();
  // Early work to start now: at most one task of a node at a time, none beside the node's whole task.
  std::vector<TaskId> take_ready();
  std::vector<PayloadPtr> inputs_of(const TaskId& early) const;
  // It ended; no result: the node does no more early work in that step.
  void ended(const TaskId& early, std::shared_ptr<const TaskResult> result);
  std::size_t running() const { return running_; }

  // The whole task wants to run. False: early work of its node is still running, ask again when that has ended.
  bool begin_whole(TaskId whole);
  void end_whole(TaskId whole);
  // By group number, null where nothing was done; empty if nothing was.
  std::vector<std::shared_ptr<const TaskResult>> take_early(TaskId whole);
  void forget_through(Step step);

 private:
  struct Emission {
    TaskId task;
    std::int32_t attempt;
    std::int32_t group;  // kWholeBatch: the attempt began
    Outputs outputs;
  };
  // Of one node in one step.
  struct Progress {
    std::int32_t attempt = 0;               // of the node that emits
    std::map<std::int32_t, Outputs> given;  // what this node handed on, by group
    std::map<std::int32_t, std::shared_ptr<const TaskResult>> done;
    bool closed = false;  // its whole task has begun, or its early work failed
  };

  void forget_followers(NodeId node, Step step);
  std::optional<TaskId> next_of(NodeId node) const;
  bool has_inputs(const TaskId& early) const;

  const Plan& plan_;
  std::vector<bool> emits_;
  std::vector<NodeId> followers_;  // in an order in which every edge goes forward
  std::map<std::pair<NodeId, Step>, Progress> progress_;
  std::map<NodeId, TaskId> busy_;  // what a follower runs, early or whole
  std::set<TaskId> stale_;         // running, but of an attempt that failed
  std::size_t running_ = 0;        // early tasks
  std::mutex mutex_;
  std::vector<Emission> emissions_;  // guarded by mutex_
};

}  // namespace rlflow
