// The product of a block of weights and few rows on tensor cores: weights are the rows of the tile and pass from memory
// into fragments with loads of 16 bytes, each warp taking its share of the depth; rows are staged in shared memory. The
// depth within 64 is taken in an order in which a lane's elements adjoin, for weights and rows alike, which changes no
// product.
#pragma once

#include "nodes/cuda/decode_linear.h"
#include "nodes/cuda/dependent_launch.cuh"
#include "nodes/cuda/element_math.cuh"
#include "nodes/cuda/streamed_product.cuh"

namespace rlflow::cuda {

using bf16 = __nv_bfloat16;

// 16 elements of each of two rows of weights, g and g+8 of a tile.
struct WeightFragment {
  uint4 low[2], high[2];
  __device__ void load(const bf16* row, std::int64_t inputs) {
    const bf16* other = row + 8 * inputs;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      low[j] = load_streamed(row + 8 * j);
      high[j] = load_streamed(other + 8 * j);
    }
  }
};

__device__ inline std::uint32_t word_at(const uint4& v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// Rows of a range of the depth in shared memory, padded so that the lanes of a load meet in no bank.
struct StagedRows {
  bf16* rows;
  int stride;  // elements

  __host__ __device__ static constexpr int stride_of(int depth) { return depth + 8; }
  __host__ __device__ static constexpr std::size_t bytes(int rows, int depth) {
    return static_cast<std::size_t>(rows) * stride_of(depth) * sizeof(bf16);
  }
  // Elements first … first+depth−1 of `count` rows of x, by all threads; there after wait() and __syncthreads().
  // All blocks want the same rows at the same time: each begins with another one, so that they do not queue.
  __device__ void copy(const bf16* x, int count, int inputs, int first, int depth) {
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const int turn = blockIdx.x % count;
    for (int i = threadIdx.x / 32; i < count; i += warps) {
      const int row = i + turn < count ? i + turn : i + turn - count;
      const bf16* from = x + static_cast<std::int64_t>(row) * inputs + first;
      const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(rows + row * stride));
#pragma unroll 4
      for (int at = 8 * lane; at < depth; at += 8 * 32) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + 2 * at), "l"(from + at));
      }
    }
  }
  __device__ void wait() const { asm volatile("cp.async.wait_all;" ::: "memory"); }
};

// kTiles tiles of 16 outputs times 8·kGroups rows over `units` of 64 of the depth, those number turn, turn + kShares, …
// for this warp. weights[t]: row g of tile t at this lane's elements. kDepth units are on their way at once.
template <int kTiles, int kGroups, int kShares, int kDepth>
class Multiply {
 public:
  float sums[kTiles][kGroups][4];

  __device__ Multiply(const bf16* const (&weights)[kTiles], int inputs, int units, int turn)
      : units_(units), inputs_(inputs), turn_(turn) {
    begin(weights);
  }
  // Once more, with other weights.
  __device__ void begin(const bf16* const (&weights)[kTiles]) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      weights_[t] = weights[t];
#pragma unroll
      for (int n = 0; n < kGroups; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[t][n][i] = 0;
      }
    }
#pragma unroll
    for (int d = 0; d < kDepth; ++d) load(next_[d], turn_ + d * kShares);
  }
  // Rows past the last of `count` repeat it.
  __device__ void run(const StagedRows& staged, int count) {
    const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
    const bf16* rows[kGroups];
#pragma unroll
    for (int n = 0; n < kGroups; ++n) rows[n] = staged.rows + min(8 * n + g, count - 1) * staged.stride + 16 * q;
    for (int unit = turn_; unit < units_;) {
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        if (unit >= units_) break;
        step(next_[d], unit, rows);
        load(next_[d], unit + kDepth * kShares);
        unit += kShares;
      }
    }
  }

 private:
  __device__ void load(WeightFragment (&to)[kTiles], int unit) {
    if (unit >= units_) return;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) to[t].load(weights_[t] + 64 * unit, inputs_);
  }
  __device__ void step(const WeightFragment (&w)[kTiles], int unit, const bf16* const (&rows)[kGroups]) {
#pragma unroll
    for (int n = 0; n < kGroups; ++n) {
      uint4 x[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) x[j] = *reinterpret_cast<const uint4*>(rows[n] + 64 * unit + 8 * j);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int i = 2 * (j % 2);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          multiply_add(sums[t][n], word_at(w[t].low[j / 2], i), word_at(w[t].high[j / 2], i),
                       word_at(w[t].low[j / 2], i + 1), word_at(w[t].high[j / 2], i + 1), word_at(x[j / 2], i),
                       word_at(x[j / 2], i + 1));
        }
      }
    }
  }

  int units_, inputs_, turn_;
  const bf16* weights_[kTiles];
  WeightFragment next_[kDepth][kTiles];
};

// Sums of a block in shared memory, [share][row][output], outputs padded so that no two lanes meet in a bank.
template <int kOutputs, int kRows>
struct SharedSums {
  static constexpr int kStride = kOutputs + 4;
  static constexpr int kFloats = kRows * kStride;  // of a share
  float* sums;

  // Output `first` … of this warp's tile.
  template <int kGroups>
  __device__ void put(int share, int first, const float (&from)[kGroups][4]) {
    const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
    float* to = sums + share * kFloats;
#pragma unroll
    for (int n = 0; n < kGroups; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) to[(8 * n + 2 * q + i % 2) * kStride + first + g + 8 * (i / 2)] = from[n][i];
    }
  }
  __device__ float get(int shares, int row, int output) const {
    float total = 0;
    for (int share = 0; share < shares; ++share) total += sums[share * kFloats + row * kStride + output];
    return total;
  }
};

// 1/√(mean + eps) of the rows into scales, by all warps of the block: eight lanes a row.
__device__ inline void row_scales(const float* squares, int count, int size, float eps, float* scales) {
  const int parts = size / kSquareElements, sub = threadIdx.x % 8;
  for (int first = 0; first < count; first += blockDim.x / 8) {
    const int row = first + threadIdx.x / 8;
    const float* from = squares + static_cast<std::int64_t>(min(row, count - 1)) * parts;
    float total = 0;
#pragma unroll 8
    for (int i = sub; i < parts; i += 8) total += from[i];
    for (int step = 4; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffffu, total, step);
    if (sub == 0 && row < count) scales[row] = 1.0f / sqrtf(total / static_cast<float>(size) + eps);
  }
}

}  // namespace rlflow::cuda
