// The parallel part of a run: the body of a task, what becomes of failures, what is told meanwhile.
#include "runtime/contract/check.h"
#include "runtime/engine/run_loop.h"
#include "runtime/engine/seconds_text.h"

namespace rlflow {

void RunLoop::execute(TaskId task) {
  Launched* launched = nullptr;
  {
    std::lock_guard lock(mutex_);
    launched = launched_.at(task).get();
  }
  if (task.group != kWholeBatch) {
    launched->report = run_early(
        {name_of(task), plan_node(task), *parts_.nodes[task.node.index()], launched->inputs, launched->context},
        task.group, parts_.watchdog);
    return;
  }
  if (parts_.graph.skipped(task.node, task.step)) return hold_version(task, *launched);
  if (parts_.graph.is_update(task.node)) parts_.models.begin_update(plan_node(task).model);
  RunnableTask runnable{name_of(task), plan_node(task), *parts_.nodes[task.node.index()], launched->inputs,
                        launched->context};
  launched->report = run_task(runnable, parts_.watchdog, parts_.clock, *this);
  if (parts_.graph.is_update(task.node) && launched->report.result) end_update(task, *launched);
}

void RunLoop::hold_version(TaskId task, Launched& launched) {
  ModelId model = plan_node(task).model;
  try {
    parts_.models.advance(model, task.step, WeightsDigest(parts_.models.weights(model)));
  } catch (const std::exception& error) {
    launched.broken = error.what();
  }
}

void RunLoop::end_update(TaskId task, Launched& launched) {
  ModelId model = plan_node(task).model;
  try {
    WeightsDigest weights = parts_.models.live(model).weights_digest();
    RLFLOW_CHECK(launched.report.result->update->applied > 0 || weights == parts_.models.weights(model),
                 plan_node(task).name + " applied no optimizer step but moved the weights");
    launched.completed.weights = weights;
    parts_.models.advance(model, task.step, weights);
  } catch (const std::exception& error) {
    launched.broken = error.what();
  }
}

void RunLoop::handle_failure(TaskId task, const Launched& launched) {
  const PlanNode& node = plan_node(task);
  if (failure_) return;  // the run is leaving already
  if (launched.broken) {
    failure_ = Outcome{ExitCode::store_damaged, "R0302", *launched.broken,
                       "resume the run; if it happens again the memory of this machine is suspect", task.node};
    return;
  }
  const TaskFailure& failure = *launched.report.failure;
  if (failure.kind == FailureKind::stopped) return;
  Outcome outcome{ExitCode::person_must_act, "R0101", {}, {}, task.node};
  std::int32_t attempts = launched.report.attempt - launched.context.attempt + 1;
  outcome.message = "`" + node.name + "` failed in step " + std::to_string(task.step) +
                    (attempts > 1 ? " " + std::to_string(attempts) + " times" : "") + ": " + failure.message;
  outcome.help = "fix the cause, then resume the run";
  if (failure.kind == FailureKind::timeout) outcome.code_id = "R0102";
  if (failure.kind == FailureKind::numerics) outcome.code_id = "R0103";
  if (parts_.graph.is_update(task.node)) {
    // The weights may be half written: only a new process, which restores the last version, goes on from here.
    if (failure.kind == FailureKind::timeout) outcome.code = ExitCode::device_lost;
    outcome.help = "resume the run: it restores version " + std::to_string(task.step - 1) + " and updates again";
  } else if (node.on_failure == OnFailure::fail && failure.kind != FailureKind::numerics) {
    outcome.code = ExitCode::no;
    outcome.help = "`on_failure = fail` ends the run for good; fix the cause and start another one";
    parts_.recorder.failed_for_good(task);
  }
  failure_ = std::move(outcome);
}

RunEvent RunLoop::event_of(RunEvent::Type type, const TaskName& task) const {
  RunEvent event;
  event.type = type;
  event.node = node_ids_.at(task.node);
  event.step = task.step;
  event.slot = task.slot;
  return event;
}

void RunLoop::on_start(const TaskName& task, std::int32_t attempt) {
  const TaskId id{node_ids_.at(task.node), task.step};
  {
    std::lock_guard lock(mutex_);
    launched_.at(id)->attempt = attempt;
  }
  if (stream_.emits(id.node)) stream_.attempt_began(id, attempt);
  parts_.recorder.attempt_started(task, attempt);
  RunEvent event = event_of(RunEvent::Type::task_started, task);
  event.attempt = attempt;
  parts_.events.emit(event);
}

void RunLoop::on_progress(const TaskName& task, std::int64_t done, std::int64_t total) {
  RunEvent event = event_of(RunEvent::Type::task_progress, task);
  event.done = done;
  event.total = total;
  parts_.events.emit(event);
}

void RunLoop::on_failure(const TaskName& task, const AttemptEnd& end, std::optional<double> again_in_ms) {
  parts_.recorder.attempt_ended(task, end);
  RunEvent event = event_of(RunEvent::Type::task_failed, task);
  event.attempt = end.attempt;
  event.milliseconds = end.milliseconds;
  event.text = end.detail;
  if (again_in_ms) event.text += " (trying again in " + seconds_text(*again_in_ms) + ")";
  parts_.events.emit(event);
}

}  // namespace rlflow
