// How is one task taken out of its run, so that it can be replayed elsewhere?
#pragma once

#include "runtime/contract/node_library.h"
#include "runtime/contract/run_api.h"
#include "runtime/engine/engine.h"

namespace rlflow {

// Writes a bundle: a folder like a run's, with the task's rows, its inputs and outputs, a checkpoint of the version
// that it reads, the program, and copies of the files of models and data. It appears whole. The run is only read.
Outcome export_task(const Plan& plan, const TaskExportRequest& request, NodeLibrary& library,
                    const EngineOptions& options = {});

}  // namespace rlflow
