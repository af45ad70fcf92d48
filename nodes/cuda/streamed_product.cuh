// The product of a warp with its left factor in four words, and loads of what is read once. For .cu files.
#pragma once

#include "nodes/cuda/tensor_core.h"

namespace rlflow::cuda {

// d += a·b, fragments as tensor_core.h has them: a: (g, 2t), (g+8, 2t), (g, 2t+8), (g+8, 2t+8); b: (2t, g), (2t+8, g).
__device__ inline void multiply_add(float (&d)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                    std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  const std::uint32_t a[4] = {a0, a1, a2, a3};
  multiply_add(d, a, b0, b1);
}

// Weights are read once a step: they pass the first cache by.
__device__ inline uint4 load_streamed(const void* from) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

}  // namespace rlflow::cuda
