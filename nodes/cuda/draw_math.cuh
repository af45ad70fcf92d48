// What a draw keeps of the logits it has seen, and how two of these become one.
#pragma once

#include "nodes/cuda/element_math.cuh"
#include "nodes/cuda/philox.cuh"
#include "nodes/cuda/sample_rows.h"

namespace rlflow::cuda {

inline constexpr std::int32_t kNoToken = 0x7fffffff;
inline constexpr float kLog2e = 1.4426950408889634f;

// `top` and `mass`: max and Σe^(·−max) of z/T; `best`: of z/T + noise, with its token and that token's z.
struct DrawState {
  float top = -INFINITY, mass = 0;
  float best = -INFINITY, logit = 0;
  std::int32_t token = kNoToken;

  __device__ void offer(float value, float z, std::int32_t id) {
    if (value > best || (value == best && id < token)) {
      best = value;
      logit = z;
      token = id;
    }
  }
  // Makes the mass one of a larger maximum.
  __device__ void raise(float larger) {
    if (top > -INFINITY && larger > top) mass *= exp2f((top - larger) * kLog2e);
    top = larger;
  }
  __device__ void join(const DrawState& other) {
    const float larger = fmaxf(top, other.top);
    DrawState right = other;
    raise(larger);
    right.raise(larger);
    mass += right.mass;
    if (other.token != kNoToken) offer(other.best, other.logit, other.token);
  }
};

// Lanes are joined in a fixed tree; all get the result.
__device__ inline void join_warp(DrawState& state) {
  state.raise(warp_max(state.top));
  state.mass = warp_sum(state.mass);
  for (int step = 1; step < 32; step *= 2) {
    const float best = __shfl_xor_sync(0xffffffffu, state.best, step);
    const float logit = __shfl_xor_sync(0xffffffffu, state.logit, step);
    const std::int32_t token = __shfl_xor_sync(0xffffffffu, state.token, step);
    if (token != kNoToken) state.offer(best, logit, token);
  }
}

// The noise of a word within 5e-5.
__device__ inline float rough_gumbel(std::uint32_t word) {
  const float unit = (static_cast<float>(word >> 9) + 0.5f) * 0x1p-23f;
  const float rest = (static_cast<float>(0x7fffffu - (word >> 9)) + 0.5f) * 0x1p-23f;  // 1 − unit, exactly
  // −ln(1 − rest); the fast logarithm is of no use near 1.
  const float gap = rest < 0.01f ? rest * (1.0f + rest * (0.5f + rest * 0.33333333f)) : -__logf(unit);
  return -__logf(gap);
}

__device__ inline bool is_end(const SamplerSettings& settings, std::int32_t token) {
  for (int i = 0; i < settings.end_count; ++i) {
    if (settings.end_ids[i] == token) return true;
  }
  return false;
}

// What a draw is made with.
struct DrawInput {
  Draw draw;
  float scale;  // of the logits as they are given
  float floor;  // the least logit that is kept
};

// Adds 128 logits, those of tokens v … v+3 of each lane (v divisible by 4, −∞ past the end), to the states of a warp.
// The noise is computed as the CPU does where the rough one comes near the best of the warp so far, `best`.
__device__ inline void see_logits(const float (&given)[4], std::int32_t v, const DrawInput& input,
                                  const SamplerSettings& settings, float& best, DrawState& state) {
  constexpr float kRough = 2e-4f;
  const bool without_end = input.draw.position < settings.min_new;
  float logits[4], scaled[4], rough[4];
  float top = -INFINITY, nearest = -INFINITY;
  PhiloxWords words{};
  if (!settings.greedy) words = philox_words(v / 4, input.draw.position, input.draw.key);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    logits[k] = given[k] * input.scale;
    scaled[k] = logits[k] * settings.inverse_temperature;
    top = fmaxf(top, scaled[k]);
    rough[k] = settings.greedy ? logits[k] : scaled[k] + rough_gumbel(words.word[k]);
    if (!(logits[k] >= input.floor) || (without_end && is_end(settings, v + k))) rough[k] = -INFINITY;
    nearest = fmaxf(nearest, rough[k]);
  }
  if (top > state.top) state.raise(top);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (scaled[k] != -INFINITY) state.mass += exp2f((scaled[k] - state.top) * kLog2e);  // a NaN stays
  }
  best = fmaxf(best, warp_max(nearest));
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (!(rough[k] > -INFINITY) || rough[k] < best - kRough) continue;
    state.offer(settings.greedy ? logits[k] : scaled[k] + gumbel(words.word[k]), logits[k], v + k);
  }
}

}  // namespace rlflow::cuda
