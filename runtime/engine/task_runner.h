// How is one task executed? Attempts, deadlines, and every exception of a node made into a TaskFailure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"
#include "runtime/engine/watchdog.h"
#include "runtime/store/task_store.h"

namespace rlflow {

enum class FailureKind {
  failed,    // the node threw
  timeout,   // it stopped after its deadline
  numerics,  // a result is not finite; never retried
  stopped,   // it was asked to leave; no failure of the task
};

struct TaskFailure {
  FailureKind kind = FailureKind::failed;
  std::string message;
};

struct TaskReport {
  std::optional<TaskResult> result;  // exactly one of the two
  std::optional<TaskFailure> failure;
  std::int32_t attempt = 1;  // the last one
  double milliseconds = 0;   // of it
};

// Hears of attempts as they happen, on the task's thread.
class AttemptListener {
 public:
  virtual ~AttemptListener() = default;
  virtual void on_start(const TaskName& task, std::int32_t attempt) = 0;
  virtual void on_progress(const TaskName& task, std::int64_t done, std::int64_t total) = 0;
  // `again_in_ms`: it will be tried again after that time; nullopt: no more.
  virtual void on_failure(const TaskName& task, const AttemptEnd& end, std::optional<double> again_in_ms) = 0;
};

struct RunnableTask {
  TaskName name;
  const PlanNode& plan;
  Node& node;
  const TaskInputs& inputs;
  TaskContext context;  // attempt: the first to be made; stop and progress are filled in here
};

// The wait before another attempt: 100 ms after the first failure, twice that after each further one, at most 30 s.
// No chance in it: one machine runs the task, and equal runs make equal records.
double backoff_ms(std::int32_t failures);

// Runs the node until it succeeds or may not be tried again: `retry` more times after a crash or a timeout, never
// for an update (the model may be half written), never after a NumericsError.
TaskReport run_task(const RunnableTask& task, Watchdog& watchdog, const Clock& clock, AttemptListener& listener);

// Runs the node once for one prompt group, without a record.
TaskReport run_early(const RunnableTask& task, std::int32_t group, Watchdog& watchdog);

}  // namespace rlflow
