// Attention on tensor cores. Four warps have a tile of queries (or, for the gradients of keys and values, of keys) of
// one head, each MT·16 rows of it; tiles of the other side pass by in two stages of shared memory.
#include <algorithm>

#include "nodes/cuda/attention_tensor.h"
#include "nodes/cuda/status.h"
#include "nodes/cuda/tensor_core.h"
#include "nodes/cuda/vectors.h"

namespace rlflow::cuda {
namespace {

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
__device__ bool any_seen(int first_query, int last_query, int first_key, int last_key, int window) {
  return first_key <= last_query && (window == 0 || last_key + window > first_query);
}
__device__ bool all_seen(int first_query, int last_query, int first_key, int last_key, int window) {
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

__device__ bool seen(int query, int key, int window) { return key <= query && (window == 0 || key + window > query); }

// Blocks that share the query heads of a tile of keys, so that there are enough of them; each sums over its heads, and
// the sums are added afterwards.
std::int64_t parts_of(const AttentionShape& shape, const AttentionTiles& tiles) {
  constexpr std::int64_t kEnough = 132 * 2 * 3;  // three waves on an H200
  const std::int64_t blocks = std::max<std::int64_t>(1, tiles.key_count * shape.kv_heads);
  return std::min(shape.heads / shape.kv_heads, (kEnough + blocks - 1) / blocks);
}

// Sums and largest of a row over the four lanes that share it.
__device__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
__device__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

// Rows g and g + 8 of each sixteen, two adjacent numbers a lane and tile of eight columns.
__device__ void store_pair(bf16* to, float low, float high) {
  *reinterpret_cast<std::uint32_t*>(to) = packed(low, high);
}
__device__ void store_pair(float* to, float low, float high) { *reinterpret_cast<float2*>(to) = {low, high}; }

template <int D, int MT, class T>
__device__ void store_rows(const float (&sums)[MT][D / 8][4], const float (&factors)[MT][2], int first_row, int count,
                           T* rows, std::int64_t stride) {
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
__device__ void multiply_rows(float (&sums)[MT][N][4], const std::uint32_t (&left)[MT][D / 16][4], std::uint32_t tile,
                              int first_row) {
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
__device__ void multiply_tiles(float (&sums)[MT][N][4], std::uint32_t left, int row, std::uint32_t tile,
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
__device__ void multiply_scores(float (&sums)[MT][D / 8][4], const float (&scores)[MT][N][4], std::uint32_t tile,
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

template <int D>
__global__ void __launch_bounds__(kThreads, 2)
    forward(AttentionShape shape, AttentionTiles tiles, const bf16* projections, bf16* out, float* log_sums) {
  constexpr int MT = Cut<D>::kRows, BN = Cut<D>::kForwardKeys, N = BN / 8;
  extern __shared__ __align__(128) char shared[];
  const std::uint32_t queries = shared_address(shared), passing = queries + kTileRows<D> * D * 2;
  auto keys_at = [&](int stage) { return passing + stage * 2 * BN * D * 2; };
  const RowTile tile = tiles.queries[blockIdx.x];
  const std::int64_t head = blockIdx.y;
  const HeadColumns columns(shape, head, head / (shape.heads / shape.kv_heads));
  const int lane = threadIdx.x % kWarp, warp_row = static_cast<int>(threadIdx.x) / kWarp * MT * 16;

  Walk<BN, true> walk{tiles.spans,
                      tile.first_span,
                      tile.last_span,
                      0,
                      tile.rows.position,
                      tile.rows.position + tile.rows.length - 1,
                      static_cast<int>(shape.window),
                      0,
                      0,
                      0};
  auto fetch = [&](int stage) {
    const bf16* rows = projections + walk.row * shape.width;
    fetch_rows<D, BN, kThreads>(keys_at(stage), rows + columns.key, shape.width, walk.count);
    fetch_rows<D, BN, kThreads>(keys_at(stage) + BN * D * 2, rows + columns.value, shape.width, walk.count);
    commit_copies();
  };
  fetch_rows<D, kTileRows<D>, kThreads>(queries, projections + tile.rows.begin * shape.width + columns.query,
                                        shape.width, tile.rows.length);
  bool more = walk.settle();
  fetch(0);
  wait_for_copies<0>();
  __syncthreads();
  std::uint32_t q[MT][D / 16][4];
#pragma unroll
  for (int m = 0; m < MT; ++m) {
#pragma unroll
    for (int k = 0; k < D / 16; ++k) load_left<D>(q[m][k], queries, warp_row + m * 16, k);
  }
  const int first_query = tile.rows.position + warp_row, last_query = first_query + MT * 16 - 1;  // of the warp
  float o[MT][D / 8][4] = {}, top[MT][2], mass[MT][2] = {};
#pragma unroll
  for (int m = 0; m < MT; ++m) top[m][0] = top[m][1] = -INFINITY;
  const float scale = shape.scale * kLog2e;
  for (int stage = 0; more; stage ^= 1) {
    const Walk<BN, true> now = walk;
    more = walk.advance();
    if (more) {
      fetch(stage ^ 1);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    if (!any_seen(first_query, last_query, now.position, now.position + BN - 1, now.window)) {
      __syncthreads();
      continue;
    }
    float s[MT][N][4] = {};
    multiply_rows<D, MT, N>(s, q, keys_at(stage), 0);
    if (now.count < BN || !all_seen(first_query, last_query, now.position, now.position + BN - 1, now.window)) {
#pragma unroll
      for (int m = 0; m < MT; ++m) {
#pragma unroll
        for (int n = 0; n < N; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int query = first_query + m * 16 + lane / 4 + i / 2 * 8;
            const int j = n * 8 + lane % 4 * 2 + i % 2;
            if (j >= now.count || !seen(query, now.position + j, now.window)) s[m][n][i] = -INFINITY;
          }
        }
      }
    }
#pragma unroll
    for (int m = 0; m < MT; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float largest = -INFINITY;
#pragma unroll
        for (int n = 0; n < N; ++n) largest = fmaxf(largest, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
        largest = fmaxf(top[m][half], quad_max(largest) * scale);
        const float base = largest == -INFINITY ? 0 : largest;  // nothing seen yet
        const float fade = power_of_two(top[m][half] - base);
        float sum = 0;
#pragma unroll
        for (int n = 0; n < N; ++n) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const float e = power_of_two(s[m][n][2 * half + i] * scale - base);
            s[m][n][2 * half + i] = e;
            sum += e;
          }
        }
        mass[m][half] = mass[m][half] * fade + sum;
        top[m][half] = largest;
#pragma unroll
        for (int n = 0; n < D / 8; ++n) {
          o[m][n][2 * half] *= fade;
          o[m][n][2 * half + 1] *= fade;
        }
      }
    }
    multiply_scores<D, MT, N>(o, s, keys_at(stage) + BN * D * 2, 0);
    __syncthreads();
  }
  float factors[MT][2];
#pragma unroll
  for (int m = 0; m < MT; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = quad_sum(mass[m][half]);
      factors[m][half] = 1 / sum;
      const int r = warp_row + m * 16 + lane / 4 + half * 8;
      if (lane % 4 == 0 && r < tile.rows.length) {
        log_sums[(tile.rows.begin + r) * shape.heads + head] = (top[m][half] + log2f(sum)) * kLn2;
      }
    }
  }
  store_rows<D, MT>(o, factors, warp_row, tile.rows.length, out + (tile.rows.begin * shape.heads + head) * D,
                    shape.heads * D);
}

template <int D>
__global__ void __launch_bounds__(kThreads, 2)
    backward_queries(AttentionShape shape, AttentionTiles tiles, const bf16* projections, const float* log_sums,
                     const bf16* dout, const float* deltas, bf16* dprojections) {
  constexpr int MT = Cut<D>::kRows, BN = Cut<D>::kBackwardKeys, N = BN / 8;
  extern __shared__ __align__(128) char shared[];
  const std::uint32_t queries = shared_address(shared), douts = queries + kTileRows<D> * D * 2;
  const std::uint32_t passing = douts + kTileRows<D> * D * 2;
  auto keys_at = [&](int stage) { return passing + stage * 2 * BN * D * 2; };
  const RowTile tile = tiles.queries[blockIdx.x];
  const std::int64_t head = blockIdx.y;
  const HeadColumns columns(shape, head, head / (shape.heads / shape.kv_heads));
  const int lane = threadIdx.x % kWarp, warp_row = static_cast<int>(threadIdx.x) / kWarp * MT * 16;

  Walk<BN, true> walk{tiles.spans,
                      tile.first_span,
                      tile.last_span,
                      0,
                      tile.rows.position,
                      tile.rows.position + tile.rows.length - 1,
                      static_cast<int>(shape.window),
                      0,
                      0,
                      0};
  auto fetch = [&](int stage) {
    const bf16* rows = projections + walk.row * shape.width;
    fetch_rows<D, BN, kThreads>(keys_at(stage), rows + columns.key, shape.width, walk.count);
    fetch_rows<D, BN, kThreads>(keys_at(stage) + BN * D * 2, rows + columns.value, shape.width, walk.count);
    commit_copies();
  };
  fetch_rows<D, kTileRows<D>, kThreads>(queries, projections + tile.rows.begin * shape.width + columns.query,
                                        shape.width, tile.rows.length);
  fetch_rows<D, kTileRows<D>, kThreads>(douts, dout + (tile.rows.begin * shape.heads + head) * D, shape.heads * D,
                                        tile.rows.length);
  bool more = walk.settle();
  fetch(0);
  const int first_query = tile.rows.position + warp_row, last_query = first_query + MT * 16 - 1;  // of the warp
  float log_sum[MT][2], delta[MT][2];
#pragma unroll
  for (int m = 0; m < MT; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = warp_row + m * 16 + lane / 4 + half * 8;
      const bool there = r < tile.rows.length;
      const std::int64_t at = (tile.rows.begin + r) * shape.heads + head;
      log_sum[m][half] = there ? log_sums[at] * kLog2e : 0;
      delta[m][half] = there ? deltas[at] : 0;
    }
  }
  wait_for_copies<0>();
  __syncthreads();
  std::uint32_t q[MT][D / 16][4], d[MT][D / 16][4];
#pragma unroll
  for (int m = 0; m < MT; ++m) {
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      load_left<D>(q[m][k], queries, warp_row + m * 16, k);
      load_left<D>(d[m][k], douts, warp_row + m * 16, k);
    }
  }
  float dq[MT][D / 8][4] = {};
  const float scale = shape.scale * kLog2e;
  for (int stage = 0; more; stage ^= 1) {
    const Walk<BN, true> now = walk;
    more = walk.advance();
    if (more) {
      fetch(stage ^ 1);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    if (!any_seen(first_query, last_query, now.position, now.position + BN - 1, now.window)) {
      __syncthreads();
      continue;
    }
    float s[MT][N][4] = {}, dp[MT][N][4] = {};
    multiply_rows<D, MT, N>(s, q, keys_at(stage), 0);
    multiply_rows<D, MT, N>(dp, d, keys_at(stage) + BN * D * 2, 0);
    const bool whole =
        now.count == BN && all_seen(first_query, last_query, now.position, now.position + BN - 1, now.window);
#pragma unroll
    for (int m = 0; m < MT; ++m) {
#pragma unroll
      for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float p = power_of_two(s[m][n][i] * scale - log_sum[m][i / 2]);
          if (!whole) {
            const int query = first_query + m * 16 + lane / 4 + i / 2 * 8;
            const int j = n * 8 + lane % 4 * 2 + i % 2;
            if (j >= now.count || !seen(query, now.position + j, now.window)) p = 0;
          }
          s[m][n][i] = p * (dp[m][n][i] - delta[m][i / 2]);
        }
      }
    }
    multiply_scores<D, MT, N>(dq, s, keys_at(stage), 0);
    __syncthreads();
  }
  float factors[MT][2];
#pragma unroll
  for (int m = 0; m < MT; ++m) factors[m][0] = factors[m][1] = shape.scale;
  store_rows<D, MT>(dq, factors, warp_row, tile.rows.length,
                    dprojections + tile.rows.begin * shape.width + columns.query, shape.width);
}

template <int D>
__global__ void __launch_bounds__(kThreads, 2)
    backward_keys(AttentionShape shape, AttentionTiles tiles, const bf16* projections, const float* log_sums,
                  const bf16* dout, const float* deltas, bf16* dprojections, float* partials, std::int64_t rows) {
  constexpr int MT = Cut<D>::kRows, BQ = Cut<D>::kQueries;
  constexpr int kBlock = Cut<D>::kBlock, N = kBlock / 8;  // queries whose scores a warp holds at once
  constexpr int kStage = 2 * BQ * D * 2 + 2 * BQ * 4;     // queries, dout, log sums, deltas
  extern __shared__ __align__(128) char shared[];
  const std::uint32_t keys = shared_address(shared), values = keys + kTileRows<D> * D * 2;
  constexpr int kPassing = 2 * kTileRows<D> * D * 2;
  const RowTile tile = tiles.keys[blockIdx.x];
  const std::int64_t kv_head = blockIdx.y, repeats = shape.heads / shape.kv_heads;
  const HeadColumns columns(shape, kv_head * repeats, kv_head);
  const int lane = threadIdx.x % kWarp, warp_row = static_cast<int>(threadIdx.x) / kWarp * MT * 16;

  Walk<BQ, false> walk{tiles.spans,
                       tile.first_span,
                       tile.last_span,
                       0,
                       tile.rows.position,
                       tile.rows.position + tile.rows.length - 1,
                       static_cast<int>(shape.window),
                       0,
                       0,
                       0};
  // Of the heads that share these keys those of this block; a tile of queries passes once for each.
  const std::int64_t first_turn = repeats * blockIdx.z / gridDim.z, last_turn = repeats * (blockIdx.z + 1) / gridDim.z;
  std::int64_t turn = first_turn;
  auto fetch = [&](int stage) {
    const std::uint32_t to = keys + kPassing + stage * kStage;
    const std::int64_t head = kv_head * repeats + turn;
    fetch_rows<D, BQ, kThreads>(to, projections + walk.row * shape.width + head * D, shape.width, walk.count);
    fetch_rows<D, BQ, kThreads>(to + BQ * D * 2, dout + (walk.row * shape.heads + head) * D, shape.heads * D,
                                walk.count);
    static_assert(2 * BQ <= kThreads);
    if (threadIdx.x < 2 * BQ) {
      const int j = static_cast<int>(threadIdx.x) % BQ;
      const bool there = j < walk.count;
      const float* from = threadIdx.x < BQ ? log_sums : deltas;
      copy_4_bytes(to + 2 * BQ * D * 2 + threadIdx.x * 4, from + (walk.row + (there ? j : 0)) * shape.heads + head,
                   there);
    }
    commit_copies();
  };
  const bf16* own = projections + tile.rows.begin * shape.width;
  fetch_rows<D, kTileRows<D>, kThreads>(keys, own + columns.key, shape.width, tile.rows.length);
  fetch_rows<D, kTileRows<D>, kThreads>(values, own + columns.value, shape.width, tile.rows.length);
  bool more = walk.settle();
  fetch(0);
  wait_for_copies<0>();
  __syncthreads();
  std::uint32_t k[MT][D / 16][4];
#pragma unroll
  for (int m = 0; m < MT; ++m) {
#pragma unroll
    for (int c = 0; c < D / 16; ++c) load_left<D>(k[m][c], keys, warp_row + m * 16, c);
  }
  const int first_key = tile.rows.position + warp_row, last_key = first_key + MT * 16 - 1;  // of the warp
  float dk[MT][D / 8][4] = {}, dv[MT][D / 8][4] = {};
  const float scale = shape.scale * kLog2e;
  for (int stage = 0; more; stage ^= 1) {
    const Walk<BQ, false> now = walk;
    if (++turn == last_turn) {
      turn = first_turn;
      more = walk.advance();
    }
    if (more) {
      fetch(stage ^ 1);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    const std::uint32_t queries = keys + kPassing + stage * kStage, douts = queries + BQ * D * 2;
    const float* numbers = reinterpret_cast<const float*>(shared + kPassing + stage * kStage + 2 * BQ * D * 2);
#pragma unroll 1
    for (int begin = 0; begin < now.count; begin += kBlock) {
      const int first_query = now.position + begin, last_query = first_query + kBlock - 1;
      if (!any_seen(first_query, last_query, first_key, last_key, now.window)) continue;
      float p[MT][N][4] = {}, ds[MT][N][4] = {};
      multiply_rows<D, MT, N>(p, k, queries, begin);
      multiply_tiles<D, MT, N>(ds, values, warp_row, douts, begin);
      const bool whole =
          begin + kBlock <= now.count && all_seen(first_query, last_query, first_key, last_key, now.window);
#pragma unroll
      for (int n = 0; n < N; ++n) {
        float log_sum[2], delta[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          log_sum[i] = numbers[begin + n * 8 + lane % 4 * 2 + i] * kLog2e;
          delta[i] = numbers[BQ + begin + n * 8 + lane % 4 * 2 + i];
        }
#pragma unroll
        for (int m = 0; m < MT; ++m) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            float e = power_of_two(p[m][n][i] * scale - log_sum[i % 2]);
            if (!whole) {
              const int key = first_key + m * 16 + lane / 4 + i / 2 * 8;
              const int j = begin + n * 8 + lane % 4 * 2 + i % 2;
              if (j >= now.count || !seen(now.position + j, key, now.window)) e = 0;
            }
            p[m][n][i] = e;
            ds[m][n][i] = e * (ds[m][n][i] - delta[i % 2]);
          }
        }
      }
      multiply_scores<D, MT, N>(dv, p, douts, begin);
      multiply_scores<D, MT, N>(dk, ds, queries, begin);
    }
    __syncthreads();
  }
  float factors[MT][2], ones[MT][2];
#pragma unroll
  for (int m = 0; m < MT; ++m) {
    factors[m][0] = factors[m][1] = shape.scale;
    ones[m][0] = ones[m][1] = 1;
  }
  if (gridDim.z == 1) {
    bf16* to = dprojections + tile.rows.begin * shape.width;
    store_rows<D, MT>(dk, factors, warp_row, tile.rows.length, to + columns.key, shape.width);
    store_rows<D, MT>(dv, ones, warp_row, tile.rows.length, to + columns.value, shape.width);
    return;
  }
  const std::int64_t key_values = 2 * shape.kv_heads * D;  // numbers of a row of partial sums
  float* to = partials + (blockIdx.z * rows + tile.rows.begin) * key_values + kv_head * D;
  store_rows<D, MT>(dk, factors, warp_row, tile.rows.length, to, key_values);
  store_rows<D, MT>(dv, ones, warp_row, tile.rows.length, to + shape.kv_heads * D, key_values);
}

// The key and value columns of dprojections = Σ of the partial sums, in order; four numbers a thread.
__global__ void add_parts(const float* partials, std::int64_t parts, std::int64_t rows, std::int64_t key_values,
                          bf16* to, std::int64_t width) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t a_row = key_values / 4;
  if (index >= rows * a_row) return;
  const std::int64_t row = index / a_row, c = (index - row * a_row) * 4;
  float sum[4] = {};
  for (std::int64_t p = 0; p < parts; ++p) {
    float v[4];
    load<float, 4>(partials + (p * rows + row) * key_values + c, v);
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] += v[k];
  }
  store<bf16, 4>(to + row * width + c, sum);
}

template <class Kernel>
void allow_shared(Kernel kernel, int bytes) {
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
}

template <int D>
void launch_forward(const AttentionShape& shape, const AttentionTiles& tiles, const bf16* projections, bf16* out,
                    float* log_sums, const Stream& stream) {
  constexpr int kBytes = (kTileRows<D> + 4 * Cut<D>::kForwardKeys) * D * 2;
  allow_shared(forward<D>, kBytes);
  const dim3 grid(static_cast<unsigned>(tiles.query_count), static_cast<unsigned>(shape.heads));
  forward<D><<<grid, kThreads, kBytes, stream.get()>>>(shape, tiles, projections, out, log_sums);
  require_launched("attention_tensor");
}

template <int D>
void launch_backward(const AttentionShape& shape, const AttentionTiles& tiles, std::int64_t rows,
                     const bf16* projections, const float* log_sums, const bf16* dout, bf16* dprojections,
                     const float* deltas, float* partials, const Stream& stream) {
  constexpr int kOfQueries = (2 * kTileRows<D> + 4 * Cut<D>::kBackwardKeys) * D * 2;
  constexpr int kOfKeys = (2 * kTileRows<D> + 4 * Cut<D>::kQueries) * D * 2 + 4 * Cut<D>::kQueries * 4;
  allow_shared(backward_queries<D>, kOfQueries);
  allow_shared(backward_keys<D>, kOfKeys);
  const dim3 queries(static_cast<unsigned>(tiles.query_count), static_cast<unsigned>(shape.heads));
  backward_queries<D><<<queries, kThreads, kOfQueries, stream.get()>>>(shape, tiles, projections, log_sums, dout,
                                                                       deltas, dprojections);
  require_launched("attention_tensor_backward, queries");
  const std::int64_t parts = parts_of(shape, tiles), key_values = 2 * shape.kv_heads * D;
  const dim3 keys(static_cast<unsigned>(tiles.key_count), static_cast<unsigned>(shape.kv_heads),
                  static_cast<unsigned>(parts));
  backward_keys<D><<<keys, kThreads, kOfKeys, stream.get()>>>(shape, tiles, projections, log_sums, dout, deltas,
                                                              dprojections, partials, rows);
  require_launched("attention_tensor_backward, keys");
  if (parts == 1) return;
  const std::int64_t threads = rows * key_values / 4;
  add_parts<<<static_cast<unsigned>((threads + 255) / 256), 256, 0, stream.get()>>>(
      partials, parts, rows, key_values, dprojections + shape.heads * D, shape.width);
  require_launched("attention_tensor_backward, parts");
}

}  // namespace

bool on_tensor_cores(const AttentionShape& shape) {
  return shape.type == Element::bf16 && (shape.head_dim == 64 || shape.head_dim == 128) && shape.width % 8 == 0;
}

TileRows tensor_tile_rows(const AttentionShape& shape) {
  return shape.head_dim == 64 ? TileRows{kTileRows<64>, kTileRows<64>} : TileRows{kTileRows<128>, kTileRows<128>};
}

void attention_tensor(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections, void* out,
                      float* log_sums, const Stream& stream) {
  if (tiles.query_count == 0) return;
  const auto* p = static_cast<const bf16*>(projections);
  auto* o = static_cast<bf16*>(out);
  if (shape.head_dim == 64) {
    launch_forward<64>(shape, tiles, p, o, log_sums, stream);
  } else {
    launch_forward<128>(shape, tiles, p, o, log_sums, stream);
  }
}

std::int64_t tensor_scratch(const AttentionShape& shape, const AttentionTiles& tiles, std::int64_t rows) {
  const std::int64_t parts = parts_of(shape, tiles);
  return parts == 1 ? 0 : parts * rows * 2 * shape.kv_heads * shape.head_dim * 4;
}

void attention_tensor_backward(const AttentionShape& shape, const AttentionTiles& tiles, std::int64_t rows,
                               const void* projections, const float* log_sums, const void* dout, void* dprojections,
                               const float* deltas, float* partials, const Stream& stream) {
  if (tiles.query_count == 0) return;
  const auto *p = static_cast<const bf16*>(projections), *d = static_cast<const bf16*>(dout);
  auto* dp = static_cast<bf16*>(dprojections);
  if (shape.head_dim == 64) {
    launch_backward<64>(shape, tiles, rows, p, log_sums, d, dp, deltas, partials, stream);
  } else {
    launch_backward<128>(shape, tiles, rows, p, log_sums, d, dp, deltas, partials, stream);
  }
}

}  // namespace rlflow::cuda
