// Does a program fit into its devices, and what must change where it does not?
#pragma once

#include <string>

#include "cli/planning/plan_memory.h"
#include "compiler/diagnostics.h"
#include "compiler/pipeline.h"

namespace rlflow {

// One E0513 for each device that cannot hold what the plan needs, at its group, with the largest parts labelled and
// the changes that would make it fit, each found by doing the arithmetic again with that change. Says nothing of a
// model that is not known: the parts that are known are compared. `pipeline` is what the plan was lowered from.
void check_memory(const Plan& plan, const Pipeline& pipeline, const std::vector<ModelFacts>& models,
                  const Cluster& cluster, Diagnostics& diagnostics);

std::string bytes_text(double bytes);  // "1.5 GiB", "320 KiB", "12 B"

}  // namespace rlflow
