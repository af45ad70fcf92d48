// Device code: products of 16 × 16 by 16 × 8 bf16 tiles with f32 sums (mma.sync), the tiles in shared memory that feed
// them, and copies that arrive while others are computed with. Only .cu files include this.
//
// How a warp holds tiles (PTX ISA, "mma.m16n8k16"), lane = 4·g + t: a sum c[16, 8] as c[0], c[1] = rows g, columns 2t,
// 2t + 1, and c[2], c[3] = rows g + 8.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace rlflow::cuda {

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

__device__ inline void load_matrices(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}
__device__ inline void load_matrices_transposed(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

// c += a·b
__device__ inline void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 2^x; 0 for x = −∞. Relative error about 2^−22; results below 2^−126 become 0.
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline std::uint32_t packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

// Two neighbouring sums [16, 16] rounded to bf16 as the left factor of the next product.
__device__ inline void as_factor(std::uint32_t (&a)[4], const float (&left)[4], const float (&right)[4]) {
  a[0] = packed(left[0], left[1]);
  a[1] = packed(left[2], left[3]);
  a[2] = packed(right[0], right[1]);
  a[3] = packed(right[2], right[3]);
}

// A tile of rows of D numbers in shared memory. The pieces of 16 bytes of a row are permuted so that eight rows at one
// column meet all banks.
template <int D>
__device__ inline std::uint32_t piece(std::uint32_t tile, int row, int column_piece) {
  return tile + static_cast<std::uint32_t>((row * (D / 8) + (column_piece ^ (row & 7))) * 16);
}

// The left factor [16, 16] at rows `row`…, columns 16·k….
template <int D>
__device__ inline void load_left(std::uint32_t (&a)[4], std::uint32_t tile, int row, int k) {
  const int lane = threadIdx.x % 32;
  load_matrices(a, piece<D>(tile, row + (lane & 15), 2 * k + (lane >> 4)));
}
// Right factors [16 deep, 8] of two tiles of 8 columns: {b[0], b[1]} and {b[2], b[3]}. Of the transpose of the stored
// rows: rows `row`… are the columns, and numbers 16·k… of a row the depth.
template <int D>
__device__ inline void load_right_of_rows(std::uint32_t (&b)[4], std::uint32_t tile, int row, int k) {
  const int lane = threadIdx.x % 32;
  load_matrices(b, piece<D>(tile, row + (lane & 7) + ((lane >> 4) << 3), 2 * k + ((lane >> 3) & 1)));
}
// The same where the stored rows `row`… are the depth, and numbers 16·n… of a row the columns.
template <int D>
__device__ inline void load_right(std::uint32_t (&b)[4], std::uint32_t tile, int row, int n) {
  const int lane = threadIdx.x % 32;
  load_matrices_transposed(b, piece<D>(tile, row + (lane & 15), 2 * n + (lane >> 4)));
}

// Copies to shared memory that are waited for later; where not `there`, zeros.
__device__ inline void copy_16_bytes(std::uint32_t to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0) : "memory");
}
__device__ inline void copy_4_bytes(std::uint32_t to, const void* from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(there ? 4 : 0) : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all but the newest `kLeft` groups of this thread.
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Begins to copy `count` of at most kRows rows, `stride` numbers apart; the rest of the tile becomes 0.
template <int D, int kRows, int kThreads>
__device__ inline void fetch_rows(std::uint32_t tile, const __nv_bfloat16* rows, std::int64_t stride, int count) {
  constexpr int kPieces = D / 8;
#pragma unroll
  for (int i = 0; i < kRows * kPieces / kThreads; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * kThreads, row = at / kPieces, column = at % kPieces;
    const bool there = row < count;
    copy_16_bytes(piece<D>(tile, row, column), rows + (there ? row : 0) * stride + column * 8, there);
  }
}

}  // namespace rlflow::cuda
