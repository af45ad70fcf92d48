// Attempts of one task: the only place that catches what a node throws.
#include "runtime/engine/task_runner.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

struct ProgressTarget {
  const TaskName& task;
  Watchdog& watchdog;
  AttemptListener& listener;
};

void report_progress(void* self, std::int64_t done, std::int64_t total) {
  auto* target = static_cast<ProgressTarget*>(self);
  target->watchdog.progressed();
  target->listener.on_progress(target->task, done, total);
}

void check_result(const RunnableTask& task, const TaskResult& result) {
  RLFLOW_CHECK(result.outputs.size() == task.plan.outputs.size(),
               task.name.node + " returned " + std::to_string(result.outputs.size()) + " outputs");
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    RLFLOW_CHECK(result.outputs[i] && result.outputs[i]->kind() == task.plan.outputs[i].type.kind,
                 task.name.node + " returned another kind at port " + std::to_string(i));
  }
  RLFLOW_CHECK(result.update.has_value() == (task.plan.op == "update"), task.name.node + ": outcome of an update");
}

std::optional<TaskFailure> try_once(const RunnableTask& task, const TaskContext& context, TaskResult& result) {
  try {
    result = task.node.run(task.inputs, context);
    check_result(task, result);
    return std::nullopt;
  } catch (const TaskStopped&) {
    return TaskFailure{FailureKind::stopped, "stopped"};
  } catch (const NumericsError& error) {
    return TaskFailure{FailureKind::numerics, error.what()};
  } catch (const std::bad_alloc&) {
    return TaskFailure{FailureKind::failed, "out of memory"};
  } catch (const std::exception& error) {
    return TaskFailure{FailureKind::failed, error.what()};
  } catch (...) {
    return TaskFailure{FailureKind::failed, "an exception of unknown type"};
  }
}

const char* ended_text(FailureKind kind) {
  switch (kind) {
    case FailureKind::failed:
    case FailureKind::numerics: return "failed";
    case FailureKind::timeout: return "timeout";
    case FailureKind::stopped: return "stopped";
  }
  return "failed";
}

bool may_try_again(const RunnableTask& task, FailureKind kind) {
  if (task.plan.op == "update" || task.node.retries_by_sample()) return false;
  return kind == FailureKind::failed || kind == FailureKind::timeout;
}

std::int64_t deadline_ms(const RunnableTask& task) { return task.node.retries_by_sample() ? 0 : task.plan.timeout_ms; }

// False: asked to leave meanwhile.
bool back_off(const RunnableTask& task, double milliseconds, Watchdog& watchdog, const Clock& clock) {
  std::stop_source stop;
  Watchdog::Ticket ticket = watchdog.begin(to_text(task.name) + " before another try", 0, stop);
  bool waited = clock.wait(milliseconds, stop.get_token());
  watchdog.end(ticket);
  return waited;
}

}  // namespace

double backoff_ms(std::int32_t failures) {
  return std::min(100.0 * std::ldexp(1.0, std::min(failures - 1, 20)), 30'000.0);
}

TaskReport run_task(const RunnableTask& task, Watchdog& watchdog, const Clock& clock, AttemptListener& listener) {
  ProgressTarget progress{task.name, watchdog, listener};
  TaskContext context = task.context;
  context.progress = report_progress;
  context.progress_self = &progress;
  for (std::int32_t failures = 0;;) {
    TaskReport report;
    report.attempt = context.attempt;
    std::stop_source stop;
    context.stop = stop.get_token();
    listener.on_start(task.name, context.attempt);
    double began = clock.now_ms();
    Watchdog::Ticket ticket = watchdog.begin(to_text(task.name), deadline_ms(task), stop);
    TaskResult result;
    report.failure = try_once(task, context, result);
    bool late = watchdog.end(ticket);
    report.milliseconds = clock.now_ms() - began;
    if (!report.failure) {
      report.result = std::move(result);  // a task that ended late but whole is whole
      return report;
    }
    if (report.failure->kind == FailureKind::stopped && late) {
      report.failure = {FailureKind::timeout, "no result within " + std::to_string(task.plan.timeout_ms) + " ms"};
    }
    std::optional<double> again_in_ms;
    if (may_try_again(task, report.failure->kind) && failures < task.plan.retry) again_in_ms = backoff_ms(++failures);
    listener.on_failure(
        task.name, {context.attempt, ended_text(report.failure->kind), report.milliseconds, report.failure->message},
        again_in_ms);
    if (!again_in_ms) return report;
    if (!back_off(task, *again_in_ms, watchdog, clock)) {
      report.failure->kind = FailureKind::stopped;
      return report;
    }
    ++context.attempt;
  }
}

TaskReport run_early(const RunnableTask& task, std::int32_t group, Watchdog& watchdog) {
  TaskReport report;
  std::stop_source stop;
  TaskContext context = task.context;
  context.stop = stop.get_token();
  Watchdog::Ticket ticket =
      watchdog.begin(to_text(task.name) + " group " + std::to_string(group), deadline_ms(task), stop);
  TaskResult result;
  report.failure = try_once(task, context, result);
  watchdog.end(ticket);
  if (!report.failure) report.result = std::move(result);
  return report;
}

}  // namespace rlflow
