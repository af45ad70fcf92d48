// What do the tests of the command line share: the built program, and a small right program to be spoilt.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace rlflow::testing {

// Runs build/rlflow in `folder` with an environment that does not depend on the caller's terminal.
ProcessResult rlflow(const std::vector<std::string>& arguments, const std::string& folder,
                     const std::string& input = "", std::map<std::string, std::string> environment = {});

// GRPO in 18 lines, right but for its model folder, which `check` only warns about.
extern const std::string kTinyProgram;

// kTinyProgram with `from`, which must stand in it exactly once, replaced.
std::string spoilt(const std::string& from, const std::string& to);

// The one JSON object on the standard output; fails the test where there is none.
nlohmann::json json_of(const ProcessResult& result);

}  // namespace rlflow::testing
