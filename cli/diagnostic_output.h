// How are a compiler's messages shown: as text for a person, as one JSON object for a program?
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/verb.h"
#include "compiler/compile.h"

namespace rlflow {

// {"format": "rlflow.diag/1", …} of the language reference, section 7.
nlohmann::json diagnostics_json(const Analysis& analysis);

// Messages to the standard error; on a terminal at most 20, then a count.
void print_diagnostics(const Analysis& analysis, const Session& session);

// A failure of a run, in the same form: at the node's line in its program where it has one.
void print_outcome(const Outcome& outcome, const Plan* plan, const Session& session);

}  // namespace rlflow
