// Attention on tensor cores: the gradients of queries by tiles of queries, those of keys and values by tiles of keys.
#include <algorithm>

#include "nodes/cuda/attention_tiles.cuh"

namespace rlflow::cuda {
namespace {

using namespace tensor_attention;

// Blocks that share the query heads of a tile of keys, so that there are enough of them; each sums over its heads, and
// the sums are added afterwards.
std::int64_t parts_of(const AttentionShape& shape, const AttentionTiles& tiles) {
  constexpr std::int64_t kEnough = 132 * 2 * 3;  // three waves on an H200
  const std::int64_t blocks = std::max<std::int64_t>(1, tiles.key_count * shape.kv_heads);
  return std::min(shape.heads / shape.kv_heads, (kEnough + blocks - 1) / blocks);
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

  Walk<BN, true> walk = walk_of<BN, true>(tiles, tile, shape.window);
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

  Walk<BQ, false> walk = walk_of<BQ, false>(tiles, tile, shape.window);
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
