// Which versions may a run still have to bring back?
#pragma once

#include <map>
#include <string>

#include "runtime/engine/step_graph.h"

namespace rlflow {

// For each trained model the oldest version that a task of step `first_unfinished` or later reads.
std::map<std::string, Version> needed_versions(const Plan& plan, const StepGraph& graph, Step first_unfinished);

}  // namespace rlflow
