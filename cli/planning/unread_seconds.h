// What an unread node costs in time, beside the message that nothing reads it.
#pragma once

#include <vector>

#include "cli/planning/plan_time.h"
#include "compiler/diagnostics.h"
#include "compiler/pipeline.h"

namespace rlflow {

// Adds a note with the estimated seconds to each W0701 whose node has some.
void add_unread_seconds(const Plan& plan, const Pipeline& pipeline, const PlanTime& time,
                        std::vector<Diagnostic>& diagnostics);

}  // namespace rlflow
