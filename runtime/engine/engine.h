// How is a Plan executed? The three calls of the engine: run (or resume) it, replay one task, export a model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/contract/node_library.h"
#include "runtime/contract/run_api.h"
#include "runtime/engine/clock.h"
#include "runtime/engine/pause_flag.h"
#include "runtime/engine/watchdog.h"
#include "runtime/store/file_layer.h"

namespace rlflow {

// What a test chooses otherwise.
struct EngineOptions {
  enum class Threads { tbb, plain, seeded };
  Threads threads = Threads::tbb;
  std::uint64_t seed = 0;        // of the order of tasks, with Threads::seeded
  const Clock* clock = nullptr;  // the system's if null
  FileLayer* files = nullptr;    // the disk if null
  WatchdogLimits watchdog;
  std::uint64_t waiting_bytes = std::uint64_t{1} << 30;  // results not yet on disk, beyond which no task is started
  double pause_grace_ms = 8000;                          // from a pause request until running tasks are asked to stop
  // A task ignored its stop request: ends the process, since a thread inside a library cannot be ended.
  std::function<void(ExitCode)> leave_process;
};

// Executes the plan in a fresh run directory, or goes on in one (request.resume), with exactly the results that an
// uninterrupted run has. Returns when the last step is durable, when `pause` was requested, or when a person must
// act. Throws nothing. One call a process at a time for a run directory.
Outcome run_plan(const Plan& plan, const RunRequest& request, NodeLibrary& library, RunObserver& observer,
                 const PauseFlag& pause, const EngineOptions& options = {});

// Runs one recorded task again from its stored inputs and compares its outputs; writes nothing. The verdict is in
// the report; the Outcome is an error only where the question could not be put (no such run, damaged store).
Outcome replay_task(const Plan& plan, const ReplayRequest& request, NodeLibrary& library, ReplayReport& report,
                    const EngineOptions& options = {});

// Brings a model to a version and writes it as a folder; writes nothing in the run.
Outcome export_model(const Plan& plan, const ExportRequest& request, NodeLibrary& library,
                     const EngineOptions& options = {});

// Brings a model to a version and calls `use` with it; writes nothing. What `use` throws becomes the Outcome.
Outcome use_model(const Plan& plan, const ModelSource& source, NodeLibrary& library,
                  const std::function<void(ModelId, Version, const ModelInstance&)>& use,
                  const EngineOptions& options = {});

}  // namespace rlflow
