// The product of a block of weights and few rows on tensor cores: weights are the rows of the tile and pass from memory
// into fragments with loads of 16 bytes, each warp taking its share of the depth. The depth within 64 is taken in an
// order in which a lane's elements adjoin, for weights and rows alike, which changes no product.
#pragma once

#include "nodes/cuda/decode_linear.h"
#include "nodes/cuda/dependent_launch.cuh"
#include "nodes/cuda/element_math.cuh"
#include "nodes/cuda/tensor_core.cuh"

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

__device__ inline std::uint32_t word_at(const uint4& v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

// kTiles tiles of 16 outputs, 8·kGroups rows; `turn` of `shares` of the depth. weights[t]: row g of tile t at this
// lane's elements; rows[n]: likewise row g of group n.
template <int kTiles, int kGroups>
class Multiply {
 public:
  float sums[kTiles][kGroups][4] = {};

  __device__ Multiply(const bf16* const (&weights)[kTiles], int inputs, int turn, int shares)
      : units_(inputs / 64), inputs_(inputs), turn_(turn), shares_(shares) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) weights_[t] = weights[t];
    load(next_[0], turn);
    load(next_[1], turn + shares);
  }
  // To be called after what writes the rows.
  __device__ void run(const bf16* const (&rows)[kGroups]) {
    for (int unit = turn_; unit < units_; unit += 2 * shares_) {
      step(next_[0], unit, rows);
      load(next_[0], unit + 2 * shares_);
      if (unit + shares_ >= units_) break;
      step(next_[1], unit + shares_, rows);
      load(next_[1], unit + 3 * shares_);
    }
  }

 private:
  __device__ void load(WeightFragment (&to)[kTiles], int unit) {
    if (unit >= units_) return;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) to[t].load(weights_[t] + 64 * unit, inputs_);
  }
  __device__ void step(const WeightFragment (&w)[kTiles], int unit, const bf16* const (&rows)[kGroups]) {
    uint4 x[kGroups][2];
#pragma unroll
    for (int n = 0; n < kGroups; ++n) {
#pragma unroll
      for (int j = 0; j < 2; ++j) x[n][j] = *reinterpret_cast<const uint4*>(rows[n] + 64 * unit + 8 * j);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int n = 0; n < kGroups; ++n) {
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          const int i = 2 * (j % 2);
          multiply_add(sums[t][n], word_at(w[t].low[j / 2], i), word_at(w[t].high[j / 2], i),
                       word_at(w[t].low[j / 2], i + 1), word_at(w[t].high[j / 2], i + 1), word_at(x[n][j / 2], i),
                       word_at(x[n][j / 2], i + 1));
        }
      }
    }
  }

  int units_, inputs_, turn_, shares_;
  const bf16* weights_[kTiles];
  WeightFragment next_[2][kTiles];
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

// Where this lane's part of each row begins; rows past the last one repeat it.
template <int kGroups>
__device__ inline void lane_rows(const bf16* x, int first, int count, int inputs, const bf16* (&rows)[kGroups]) {
  const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
#pragma unroll
  for (int n = 0; n < kGroups; ++n) {
    const int row = min(first + 8 * n + g, count - 1);
    rows[n] = x + static_cast<std::int64_t>(row) * inputs + 16 * q;
  }
}

// 1/√(mean + eps) of rows first … into scales [8·kGroups], by all warps of the block.
template <int kGroups>
__device__ inline void row_scales(const float* squares, int first, int count, int size, float eps, float* scales) {
  const int parts = size / kSquareElements, lane = threadIdx.x % 32;
  const int warps = blockDim.x / 32;
#pragma unroll 4
  for (int row = threadIdx.x / 32; row < 8 * kGroups; row += warps) {
    const float* from = squares + static_cast<std::int64_t>(min(first + row, count - 1)) * parts;
    float total = 0;
    for (int i = lane; i < parts; i += 32) total += from[i];
    total = warp_sum(total);
    if (lane == 0) scales[row] = 1.0f / sqrtf(total / static_cast<float>(size) + eps);
  }
}

}  // namespace rlflow::cuda
