// What the forward and backward kernels of attention on tensor cores share: tiles, the walk over those that pass by,
// and products between them. Four warps have a tile of queries (or, for the gradients of keys and values, of keys) of
// one head, each MT·16 rows of it; tiles of the other side pass by in two stages of shared memory.
#pragma once

#include "nodes/cuda/attention_tensor.h"
#include "nodes/cuda/status.h"
#include "nodes/cuda/tensor_core.h"
#include "nodes/cuda/vectors.h"

namespace rlflow::cuda::tensor_attention {

using bf16 = __nv_bfloat16;

constexpr int kThreads = 128;
constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

// Rows of a warp (in sixteens) and of a tile that passes by. Chosen by the registers that sums take.
template <int D>
struct Cut;
template <>
struct Cut<64> {
  static constexpr int kRows = 2, kForwardKeys = 64, kBackwardKeys = 32, kQueries = 64, kBlock = 16;
};
template <>
struct Cut<128> {
  static constexpr int kRows = 1, kForwardKeys = 64, kBackwardKeys = 32, kQueries = 32, kBlock = 16;
};
template <int D>
constexpr int kTileRows = Cut<D>::kRows * 64;

// Does any query of first_query … last_query see any key of first_key … last_key; do all see all? Positions.
inline __device__ bool any_seen(int first_query, int last_query, int first_key, int last_key, int window) {
  return first_key <= last_query && (window == 0 || last_key + window > first_query);
}
inline __device__ bool all_seen(int first_query, int last_query, int first_key, int last_key, int window) {
  return last_key <= first_query && (window == 0 || first_key + window > last_query);
}

// Walks over the tiles of `kStep` rows of a list of spans that a tile meets.
template <int kStep, bool kKeysPass>
struct Walk {
  const RowSpan* spans;
  int span, last_span, begin;
  int first, last;  // positions of the standing tile
  int window;
  int row, position, count;  // of the passing tile

  __device__ bool settle() {
    while (span < last_span) {
      const RowSpan at = spans[span];
      if (begin >= at.length) {
        ++span;
        begin = 0;
        continue;
      }
      row = at.begin + begin;
      position = at.position + begin;
      count = min(kStep, at.length - begin);
      const int passing_last = position + count - 1;
      if (kKeysPass ? any_seen(first, last, position, passing_last, window)
                    : any_seen(position, passing_last, first, last, window)) {
        return true;
      }
      begin += kStep;
    }
    return false;
  }
  __device__ bool advance() {
    begin += kStep;
    return settle();
  }
};

template <int kStep, bool kKeysPass>
inline __device__ Walk<kStep, kKeysPass> walk_of(const AttentionTiles& tiles, const RowTile& tile,
                                                 std::int64_t window) {
  const int first = tile.rows.position;
  return {tiles.spans,
          tile.first_span,
          tile.last_span,
          0,
          first,
          first + tile.rows.length - 1,
          static_cast<int>(window),
          0,
          0,
          0};
}

inline __device__ bool seen(int query, int key, int window) {
  return key <= query && (window == 0 || key + window > query);
}

// Sums and largest of a row over the four lanes that share it.
inline __device__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
inline __device__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

// Rows g and g + 8 of each sixteen, two adjacent numbers a lane and tile of eight columns.
inline __device__ void store_pair(bf16* to, float low, float high) {
  *reinterpret_cast<std::uint32_t*>(to) = packed(low, high);
}
inline __device__ void store_pair(float* to, float low, float high) { *reinterpret_cast<float2*>(to) = {low, high}; }

template <int D, int MT, class T>
inline __device__ void store_rows(const float (&sums)[MT][D / 8][4], const float (&factors)[MT][2], int first_row,
                                  int count, T* rows, std::int64_t stride) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int m = 0; m < MT; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = first_row + m * 16 + lane / 4 + half * 8;
      if (r >= count) continue;
      T* to = rows + r * stride + lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        store_pair(to + n * 8, sums[m][n][2 * half] * factors[m][half], sums[m][n][2 * half + 1] * factors[m][half]);
      }
    }
  }
}

// sums[MT·16, N·8] += left factors (registers) · transposed rows of a tile.
template <int D, int MT, int N>
inline __device__ void multiply_rows(float (&sums)[MT][N][4], const std::uint32_t (&left)[MT][D / 16][4],
                                     std::uint32_t tile, int first_row) {
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      std::uint32_t b[4];
      load_right_of_rows<D>(b, tile, first_row + n * 8, k);
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        multiply_add(sums[m][n], left[m][k], b[0], b[1]);
        multiply_add(sums[m][n + 1], left[m][k], b[2], b[3]);
      }
    }
  }
}
// The same with the left factors in a tile, from `row` on.
template <int D, int MT, int N>
inline __device__ void multiply_tiles(float (&sums)[MT][N][4], std::uint32_t left, int row, std::uint32_t tile,
                                      int first_row) {
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    std::uint32_t a[MT][4];
#pragma unroll
    for (int m = 0; m < MT; ++m) load_left<D>(a[m], left, row + m * 16, k);
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      std::uint32_t b[4];
      load_right_of_rows<D>(b, tile, first_row + n * 8, k);
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        multiply_add(sums[m][n], a[m], b[0], b[1]);
        multiply_add(sums[m][n + 1], a[m], b[2], b[3]);
      }
    }
  }
}
// sums[MT·16, D] += scores[MT·16, N·8] rounded to bf16 · rows of a tile.
template <int D, int MT, int N>
inline __device__ void multiply_scores(float (&sums)[MT][D / 8][4], const float (&scores)[MT][N][4], std::uint32_t tile,
                                       int first_row) {
#pragma unroll
  for (int k = 0; k < N / 2; ++k) {
    std::uint32_t a[MT][4];
#pragma unroll
    for (int m = 0; m < MT; ++m) as_factor(a[m], scores[m][2 * k], scores[m][2 * k + 1]);
#pragma unroll
    for (int n = 0; n < D / 16; ++n) {
      std::uint32_t b[4];
      load_right<D>(b, tile, first_row + k * 16, n);
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        multiply_add(sums[m][2 * n], a[m], b[0], b[1]);
        multiply_add(sums[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// Where a head's queries, keys and values stand in a row of projections.
struct HeadColumns {
  std::int64_t query, key, value;
  __device__ HeadColumns(const AttentionShape& shape, std::int64_t head, std::int64_t kv_head)
      : query(head * shape.head_dim),
        key((shape.heads + kv_head) * shape.head_dim),
        value((shape.heads + shape.kv_heads + kv_head) * shape.head_dim) {}
};

template <class Kernel>
void allow_shared(Kernel kernel, int bytes) {
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
}

}  // namespace rlflow::cuda::tensor_attention
