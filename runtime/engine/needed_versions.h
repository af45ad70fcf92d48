// Which versions may a run still have to bring back?
#pragma once

#include <functional>
#include <map>
#include <string>

#include "runtime/engine/step_graph.h"

namespace rlflow {

// For each trained model the oldest version that a task of step `first_unfinished` or later reads.
std::map<std::string, Version> needed_versions(const Plan& plan, const StepGraph& graph, Step first_unfinished);

// The oldest version that a resume has to bring back, at most `head`: copies of it are read through a replica by a
// task after `committed` that is not `answered` from the store.
Version oldest_to_restore(const Plan& plan, const StepGraph& graph, ModelId model, Version head, Step committed,
                          const std::function<bool(TaskId)>& answered);

}  // namespace rlflow
