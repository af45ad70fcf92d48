// The bf16 product of a warp, d += a·b for a [16, 16] and b [16, 8], and loads of 16 bytes.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace rlflow::cuda {

// Fragments of a lane with g = lane/4, q = lane%4, two elements a word:
// a: (g, 2q), (g+8, 2q), (g, 2q+8), (g+8, 2q+8); b: (2q, g), (2q+8, g); d: (g, 2q), (g, 2q+1), (g+8, 2q), (g+8, 2q+1).
__device__ inline void multiply_add(float (&d)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                    std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ inline std::uint32_t packed(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&both);
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
