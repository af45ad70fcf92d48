// Device code that kernels share: vectors of stored numbers widened to f32, and sums over warps and blocks in a fixed
// order. Only .cu files include this.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

inline constexpr int kWarp = 32;

__device__ inline float widened(float x) { return x; }
__device__ inline float widened(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__device__ T narrowed(float x);
template <>
__device__ inline float narrowed<float>(float x) {
  return x;
}
template <>
__device__ inline __nv_bfloat16 narrowed<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// V adjacent numbers, read and written at once; the address is a multiple of their size.
template <class T, int V>
struct alignas(sizeof(T) * V) Vector {
  T at[V];
};

template <class T, int V>
__device__ inline void load(const T* from, float (&to)[V]) {
  const Vector<T, V> v = *reinterpret_cast<const Vector<T, V>*>(from);
#pragma unroll
  for (int i = 0; i < V; ++i) to[i] = widened(v.at[i]);
}
template <class T, int V>
__device__ inline void store(T* to, const float (&from)[V]) {
  Vector<T, V> v;
#pragma unroll
  for (int i = 0; i < V; ++i) v.at[i] = narrowed<T>(from[i]);
  *reinterpret_cast<Vector<T, V>*>(to) = v;
}

// Numbers of 16 bytes where a row of `size` numbers can be cut so; else 1.
template <class T>
constexpr int kWide = 16 / sizeof(T);
template <class T>
bool is_wide(std::int64_t size, std::initializer_list<const void*> pointers) {
  if (size % kWide<T> != 0) return false;
  for (const void* p : pointers) {
    if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0) return false;
  }
  return true;
}

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffffu, x, offset);
  return x;
}
__device__ inline float warp_max(float x) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, offset));
  return x;
}

// Sum over a block of whole warps; every thread gets it. `shared` has 32 floats, not used by a call in flight.
__device__ inline float block_sum(float x, float* shared) {
  x = warp_sum(x);
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = x;
  __syncthreads();
  float sum = 0;
  for (unsigned w = 0; w < blockDim.x / kWarp; ++w) sum += shared[w];
  return sum;
}

// use(T()) with the type that stores `element`.
template <class Use>
void with_type(Element element, const Use& use) {
  switch (element) {
    case Element::f32: use(float()); return;
    case Element::bf16: use(__nv_bfloat16()); return;
  }
}

}  // namespace rlflow::cuda
