// Elements of f32 and bf16 as f32, and sums over a warp and a block in one fixed order.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace rlflow::cuda {

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <class T>
__device__ inline float rounded(float x) {
  return to_float(from_float<T>(x));
}

__device__ inline float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
__device__ inline float warp_max(float x) {
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

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
