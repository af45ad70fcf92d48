// The Plan of an existing run, compiled again from the run's own copy of its program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/store/run_reader.h"

namespace rlflow {

// `more` are overrides of this command, which win over the recorded ones. Throws StoreError (exit 4) where the copy
// no longer compiles or means something else than what was recorded. `cluster` as in CompileRequest.
Plan recorded_plan(const RecordedRun& run, const std::vector<std::string>& more, const Cluster* cluster);

// Digest of the scalar that `prev(…, init=…)` makes.
Digest prev_init_digest(double init);

}  // namespace rlflow
