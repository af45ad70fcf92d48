// How does a run come into being?
#pragma once

#include "runtime/contract/node_library.h"
#include "runtime/engine/model_states.h"
#include "runtime/store/artifact_store.h"
#include "runtime/store/task_store.h"

namespace rlflow {

// Makes the run directory with its database, program and version 0 of every model: all of it, or nothing.
void create_run(FileLayer& files, const Plan& plan, const RunRequest& request, NodeLibrary& library,
                const ModelStates& models, std::int64_t now_ms);

}  // namespace rlflow
