// Where do two programs mean something else? By address, not by line: comments, order and layout do not count.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace rlflow {

struct Difference {
  std::string address;  // "traj.temperature", "node traj", "stop"
  std::string before;   // empty: not there
  std::string after;
  bool free = false;  // may change on a resume
};

// Of two programs that compile, by address.
std::vector<Difference> program_differences(const Compilation& before, const Compilation& after);
// "traj.temperature: 1.0 -> 0.5", one a line, indented.
std::string to_text(const std::vector<Difference>& differences);
nlohmann::json differences_json(const std::vector<Difference>& differences);

}  // namespace rlflow
