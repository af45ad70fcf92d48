// cos and sin of the rotary positions of a model's layers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nodes/format/model_config.h"

namespace rlflow {

// f32[max_positions, head_dim/2] each.
struct RotaryTable {
  RotaryTable(const RopeParameters& rope, std::int64_t head_dim, std::int64_t positions);
  std::vector<float> cos, sin;
};

// One table, or two where sliding layers turn at another speed.
class RotaryTables {
 public:
  explicit RotaryTables(const ModelConfig& config);
  const RotaryTable& of(bool sliding) const { return sliding && local_ ? *local_ : full_; }

 private:
  RotaryTable full_;
  std::optional<RotaryTable> local_;
};

}  // namespace rlflow
