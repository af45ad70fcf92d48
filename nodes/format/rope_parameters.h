// How fast the rotary positions of a model turn, as config.json says it in either of transformers' dialects.
#pragma once

#include <cstdint>
#include <vector>

namespace rlflow {

// none: as trained; linear: every frequency divided by `factor` (position interpolation, Chen et al. 2023);
// llama3: only the slow ones, with a smooth passage between (Llama 3.1).
enum class RopeScaling { none, linear, llama3 };

struct RopeParameters {
  double theta = 10'000;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  std::int64_t original_positions = 0;               // llama3: max_position_embeddings before scaling

  bool operator==(const RopeParameters&) const = default;
};

// Radians by which pair i = 0 … head_dim/2 − 1 turns a position: theta^(−2i/head_dim), scaled. In f32 throughout, as
// transformers computes them (modeling_rope_utils.py), so that angles agree far from position 0.
std::vector<float> rope_frequencies(const RopeParameters& rope, std::int64_t head_dim);

}  // namespace rlflow
