// Which task is the first that two runs did differently, and what of it was different?
#pragma once

#include <optional>
#include <string>

#include "runtime/store/run_reader.h"

namespace rlflow {

struct Divergence {
  std::string task;
  std::string why;
};
// In the order of steps, and of the left run's tasks within one; up to and including `last`.
std::optional<Divergence> first_divergence(const RunReader& left, const RunReader& right, Step last);

}  // namespace rlflow
