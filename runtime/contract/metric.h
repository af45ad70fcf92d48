// What a task tells about itself besides its outputs: named numbers, and a few responses to look at.
#pragma once

#include <optional>
#include <string>

namespace rlflow {

struct Metric {
  std::string name;  // the field's names: "reward/mean", "grad_norm", …
  double value = 0;  // NaN and infinities are legal and stored as such
};

// A response worth showing to a person, from rollout or evaluate.
struct Sample {
  std::string prompt;
  std::string response;
  std::optional<double> reward;
};

}  // namespace rlflow
