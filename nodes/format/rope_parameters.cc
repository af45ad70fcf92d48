// How fast the rotary positions of a model turn.
#include "nodes/format/rope_parameters.h"

#include <cmath>
#include <numbers>

namespace rlflow {
namespace {

// With λ = 2π/f and L the original length: f where λ < L/high, f/factor where λ > L/low, and between them the mean
// of both weighted by s = (L/λ − low)/(high − low).
float llama3_frequency(const RopeParameters& rope, float frequency) {
  const auto factor = static_cast<float>(rope.factor), length = static_cast<float>(rope.original_positions);
  const auto low = static_cast<float>(rope.low_freq_factor), high = static_cast<float>(rope.high_freq_factor);
  const float wavelength = static_cast<float>(2 * std::numbers::pi) / frequency;
  if (wavelength > length / low) return frequency / factor;
  if (wavelength < length / high) return frequency;
  const float smooth = (length / wavelength - low) / (high - low);
  return (1.0f - smooth) * frequency / factor + smooth * frequency;
}

}  // namespace

std::vector<float> rope_frequencies(const RopeParameters& rope, std::int64_t head_dim) {
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < head_dim / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    const float frequency = 1.0f / std::pow(static_cast<float>(rope.theta), exponent);
    switch (rope.scaling) {
      case RopeScaling::none: frequencies.push_back(frequency); break;
      case RopeScaling::linear: frequencies.push_back(frequency / static_cast<float>(rope.factor)); break;
      case RopeScaling::llama3: frequencies.push_back(llama3_frequency(rope, frequency)); break;
    }
  }
  return frequencies;
}

}  // namespace rlflow
