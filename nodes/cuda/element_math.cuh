// Sums over blocks of a size that is known to the compiler, in one fixed order, and gates.
#pragma once

#include "nodes/cuda/vectors.h"

namespace rlflow::cuda {

// For blocks of kThreads threads, a multiple of 32; every thread gets the result.
template <int kThreads>
__device__ inline float block_sum(float x) {
  __shared__ float parts[kThreads / 32];
  x = warp_sum(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  float total = 0;
  for (int i = 0; i < kThreads / 32; ++i) total += parts[i];
  return total;
}
template <int kThreads>
__device__ inline float block_max(float x) {
  __shared__ float parts[kThreads / 32];
  x = warp_max(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  float best = parts[0];
  for (int i = 1; i < kThreads / 32; ++i) best = fmaxf(best, parts[i]);
  return best;
}

__device__ inline float activated(float gate, bool gelu) {
  const float argument = gelu ? (gate + 0.044715f * gate * gate * gate) * 1.5957691216057308f : gate;
  return gate / (1.0f + expf(-argument));
}

}  // namespace rlflow::cuda
