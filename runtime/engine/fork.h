// How does a run begin where another one is?
#pragma once

#include "runtime/contract/node_library.h"
#include "runtime/contract/run_api.h"
#include "runtime/engine/engine.h"

namespace rlflow {

// Makes a run folder with the parent's steps up to request.step and `plan` for those after it: all of it, or nothing.
// Rows are copied, artifacts shared. What the first step reads of each model becomes a checkpoint of the fork, restored
// under the parent's plan where the parent has none, since the fork's plan might redo an update differently. The parent
// is only read, and may be running. Throws nothing.
Outcome fork_run(const Plan& parent_plan, const Plan& plan, const ForkRequest& request, NodeLibrary& library,
                 const EngineOptions& options = {});

}  // namespace rlflow
