// Which versions did tasks read where the program leaves them a choice?
#pragma once

#include "runtime/engine/step_graph.h"
#include "runtime/store/database.h"

namespace rlflow {

// Chooses what a run has recorded, for its `lag <= L`. A recorded version that the program does not allow is left out,
// so that whoever compares finds another one.
void choose_as_recorded(Database& database, const Plan& plan, StepGraph& graph);

}  // namespace rlflow
