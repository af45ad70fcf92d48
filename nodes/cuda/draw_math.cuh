// What a draw keeps of the logits it has seen, and how two of these become one.
#pragma once

#include "nodes/cuda/philox.cuh"
#include "nodes/cuda/sample_rows.h"

namespace rlflow::cuda {

inline constexpr std::int32_t kNoToken = 0x7fffffff;

struct DrawState {
  float top = -INFINITY, mass = 0;
  float best = -INFINITY, logit = 0;
  std::int32_t token = kNoToken;

  __device__ void see(float scaled) {
    if (scaled > top) {
      mass = mass * expf(top - scaled) + 1.0f;
      top = scaled;
    } else if (scaled > -INFINITY) {
      mass += expf(scaled - top);
    } else if (!(scaled == scaled)) {
      mass = scaled;  // a NaN stays
    }
  }
  __device__ void offer(float value, float z, std::int32_t id) {
    if (value > best || (value == best && id < token)) {
      best = value;
      logit = z;
      token = id;
    }
  }
  __device__ void join(const DrawState& other) {
    const float larger = fmaxf(top, other.top);
    if (larger > -INFINITY) {
      mass = mass * expf(top - larger) + other.mass * expf(other.top - larger);
    } else {
      mass += other.mass;
    }
    top = larger;
    if (other.token != kNoToken) offer(other.best, other.logit, other.token);
  }
  __device__ DrawState across(int step) const {
    DrawState other;
    other.top = __shfl_xor_sync(0xffffffffu, top, step);
    other.mass = __shfl_xor_sync(0xffffffffu, mass, step);
    other.best = __shfl_xor_sync(0xffffffffu, best, step);
    other.logit = __shfl_xor_sync(0xffffffffu, logit, step);
    other.token = __shfl_xor_sync(0xffffffffu, token, step);
    return other;
  }
};

// Lanes are joined in a fixed tree; the lower lane's state is always the left one, so both get the same bits.
__device__ inline void join_warp(DrawState& state) {
  for (int step = 1; step < 32; step *= 2) {
    const DrawState other = state.across(step);
    if (threadIdx.x & step) {
      DrawState left = other;
      left.join(state);
      state = left;
    } else {
      state.join(other);
    }
  }
}

__device__ inline bool is_end(const SamplerSettings& settings, std::int32_t token) {
  for (int i = 0; i < settings.end_count; ++i) {
    if (settings.end_ids[i] == token) return true;
  }
  return false;
}

}  // namespace rlflow::cuda
