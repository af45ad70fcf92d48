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
  const float above = __uint_as_float(word >> 9 | 0x3f800000u);                // [1, 2), without a conversion
  const float unit = above - 1.0f + 0x1p-24f, rest = 2.0f - above - 0x1p-24f;  // 1 − unit, exactly
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

// Which of tokens v … v+3 end a response, a bit each.
__device__ inline unsigned end_bits(const SamplerSettings& settings, std::int32_t v) {
  unsigned bits = 0;
  for (int i = 0; i < settings.end_count; ++i) {
    const auto at = static_cast<std::uint32_t>(settings.end_ids[i] - v);
    if (at < 4) bits |= 1u << at;
  }
  return bits;
}

// Adds 128 logits, those of tokens v … v+3 of each lane (v divisible by 4, −∞ past the end), to the states of a warp.
// `best` is near what the warp has seen achieved. The largest word of a lane's four with the largest of their logits
// bounds what they can achieve: only where that comes near the best the noise is computed, as the CPU does it.
__device__ inline void see_logits(const float (&given)[4], std::int32_t v, const DrawInput& input,
                                  const SamplerSettings& settings, float& best, DrawState& state) {
  constexpr float kRough = 2e-4f;
  const bool greedy = settings.greedy;
  float logits[4], scaled[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    logits[k] = given[k] * input.scale;
    scaled[k] = logits[k] * settings.inverse_temperature;
  }
  const float top = fmaxf(fmaxf(scaled[0], scaled[1]), fmaxf(scaled[2], scaled[3]));
  if (top > state.top) state.raise(top);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (scaled[k] != -INFINITY) state.mass += exp2f((scaled[k] - state.top) * kLog2e);  // a NaN stays
  }
  PhiloxWords words{};
  if (!greedy) words = philox_words(v / 4, input.draw.position, input.draw.key);
  const unsigned left_out = input.draw.position < settings.min_new ? end_bits(settings, v) : 0;
  float allowed[4], most = -INFINITY, of_most = -INFINITY;
  std::uint32_t word = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const bool kept = logits[k] >= input.floor && !(left_out >> k & 1u);
    allowed[k] = kept ? scaled[k] : -INFINITY;
    most = fmaxf(most, allowed[k]);
    if (words.word[k] >= word) {
      word = words.word[k];
      of_most = allowed[k];
    }
  }
  const float noise = greedy ? 0.0f : rough_gumbel(word);
  best = fmaxf(best, warp_max(greedy ? most : of_most + noise));
  if (!(most > -INFINITY) || most + noise < best - kRough) return;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (!(allowed[k] > -INFINITY)) continue;
    state.offer(greedy ? logits[k] : scaled[k] + gumbel(words.word[k]), logits[k], v + k);
  }
}

}  // namespace rlflow::cuda
