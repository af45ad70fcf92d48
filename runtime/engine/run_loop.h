// How does a run go from task to task? The serial part that an executor calls, and the body of each task.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/contract/node_library.h"
#include "runtime/engine/event_bus.h"
#include "runtime/engine/executor.h"
#include "runtime/engine/group_stream.h"
#include "runtime/engine/model_states.h"
#include "runtime/engine/pause_flag.h"
#include "runtime/engine/recorder.h"
#include "runtime/engine/schedule.h"
#include "runtime/engine/task_runner.h"
#include "runtime/engine/value_store.h"

namespace rlflow {

// A task of an uncommitted step that the store knows already.
struct StoredTask {
  bool answered = false;        // done or skipped: not to be run again
  std::int32_t attempts = 0;    // so far
  ValueStore::Outputs outputs;  // of a done one
};

class RunLoop final : public TaskSource, public AttemptListener {
 public:
  struct Parts {
    const Plan& plan;
    StepGraph& graph;
    std::uint64_t seed;
    NodeLibrary& library;
    std::vector<std::unique_ptr<Node>>& nodes;  // by plan node; null for checkpoints
    ModelStates& models;
    Recorder& recorder;
    Watchdog& watchdog;
    const Clock& clock;
    EventBus& events;
    const PauseFlag& pause;
    Executor& executor;
    std::uint64_t waiting_bytes;  // of results not yet on disk, from which on no task is started
  };
  // `values` holds what earlier steps left for later ones; `stored` what uncommitted steps finished already.
  RunLoop(const Parts& parts, Step committed, ValueStore values, std::map<TaskId, StoredTask> stored);

  std::vector<Launch> next(std::optional<TaskId> ended) override;
  void execute(TaskId task) override;
  bool finished() const override;

  void on_start(const TaskName& task, std::int32_t attempt) override;
  void on_progress(const TaskName& task, std::int64_t done, std::int64_t total) override;
  void on_failure(const TaskName& task, const AttemptEnd& end, std::optional<double> again_in_ms) override;

  // After the run: why it ended early; nullopt if it went to its last step or was asked to pause.
  const std::optional<Outcome>& failure() const { return failure_; }
  bool completed() const { return schedule_.all_finished(); }
  // Any thread: the next call of `next` says who waits for whom.
  void explain_soon() { explain_ = true; }

 private:
  struct Launched {
    TaskInputs inputs;
    CompletedTask completed;
    TaskContext context;
    std::atomic<std::int32_t> attempt = 1;  // that runs now
    TaskReport report;
    std::optional<std::string> broken;  // the copies of a new version could not be made
  };

  void admit_steps();
  void answer(TaskId task, StoredTask stored);
  bool start(TaskId task, std::vector<Launch>& launches);  // true: it ended at once
  void launch(TaskId task, std::vector<Launch>& launches);
  void start_held(std::vector<Launch>& launches);
  void start_early(std::vector<Launch>& launches);
  void drop_held();
  bool has_room();
  void choose_version(TaskId task);
  void resolve_inputs(TaskId task, Launched& launched);
  void resolve_input(TaskId task, std::size_t port, Launched& launched);
  void resolve_carried(TaskId task, Launched& launched);
  void start_checkpoint(TaskId task);
  std::unique_ptr<Launched> take_launched(TaskId task);
  void handle_end(TaskId task);
  void handle_early_end(TaskId task);
  void handle_result(TaskId task, Launched& launched);
  void handle_failure(TaskId task, const Launched& launched);
  void watch_skips(TaskId task, const UpdateOutcome& update);
  void tell_once(TaskId task, const std::vector<std::string>& warnings);
  void finish_steps();
  void hold_version(TaskId task, Launched& launched);
  void end_update(TaskId task, Launched& launched);
  void take_saved_checkpoints();
  void explain();
  const PlanNode& plan_node(TaskId task) const { return parts_.plan.nodes[task.node.index()]; }
  TaskName name_of(TaskId task) const { return {plan_node(task).name, task.step, 0}; }
  bool leaving() const { return failure_ || parts_.pause.requested() || parts_.recorder.failed(); }
  RunEvent event_of(RunEvent::Type type, const TaskName& task) const;

  Parts parts_;
  Schedule schedule_;
  GroupStream stream_;
  std::vector<TaskId> held_;  // started, but early work of their nodes is still running
  bool waits_for_room_ = false;
  ValueStore values_;
  std::map<TaskId, StoredTask> stored_;
  std::map<std::string, NodeId> node_ids_;
  std::optional<Outcome> failure_;
  std::map<ModelId, int> skips_in_a_row_;
  std::set<std::string> told_;  // warnings of nodes
  double step_ended_ms_;
  std::atomic<bool> explain_ = false;

  mutable std::mutex mutex_;
  std::map<TaskId, std::unique_ptr<Launched>> launched_;  // guarded by mutex_; what it points to, by its task alone
  std::vector<TaskId> saved_checkpoints_;                 // guarded by mutex_
  std::size_t checkpoints_being_saved_ = 0;               // of the serial part
};

}  // namespace rlflow
