// The Plan of an existing run, compiled again from the run's own copy of its program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/store/run_reader.h"

namespace rlflow {

// The run's own program, or `program` in its place (a file of the user's), compiled with the recorded overrides and
// `more`, which win over recorded ones of the same address. Throws StoreError R0214 (exit 4) where the copy does not
// compile, R0217 (exit 1) where it does not with what was added.
Compilation recorded_compilation(const RecordedRun& run, const std::vector<std::string>& more, const Cluster* cluster,
                                 const std::string& program = {});

// The Plan of that. Throws StoreError R0215 (exit 2) that lists what would change where it means something else than
// what was recorded.
Plan recorded_plan(const RecordedRun& run, const std::vector<std::string>& more, const Cluster* cluster);

// Digest of the scalar that `prev(…, init=…)` makes.
Digest prev_init_digest(double init);

}  // namespace rlflow
