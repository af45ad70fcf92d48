// cos and sin of the rotary positions of a model's layers.
#include "nodes/model/rotary.h"

#include <cmath>

namespace rlflow {

RotaryTable::RotaryTable(const RopeParameters& rope, std::int64_t head_dim, std::int64_t positions) {
  const std::vector<float> frequencies = rope_frequencies(rope, head_dim);
  cos.reserve(static_cast<std::size_t>(positions) * frequencies.size());
  sin.reserve(cos.capacity());
  for (std::int64_t position = 0; position < positions; ++position) {
    for (float frequency : frequencies) {
      const float angle = static_cast<float>(position) * frequency;  // f32, as the reference implementation does
      cos.push_back(std::cos(angle));
      sin.push_back(std::sin(angle));
    }
  }
}

RotaryTables::RotaryTables(const ModelConfig& config) : full_(config.rope, config.head_dim, config.max_positions) {
  if (config.window > 0 && config.local_rope != config.rope) {
    local_.emplace(config.local_rope, config.head_dim, config.max_positions);
  }
}

}  // namespace rlflow
