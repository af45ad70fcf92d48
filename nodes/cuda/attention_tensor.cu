// Attention on tensor cores, forward.
#include "nodes/cuda/attention_tiles.cuh"

namespace rlflow::cuda {
namespace {

using namespace tensor_attention;

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

  Walk<BN, true> walk = walk_of<BN, true>(tiles, tile, shape.window);
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
void launch_forward(const AttentionShape& shape, const AttentionTiles& tiles, const bf16* projections, bf16* out,
                    float* log_sums, const Stream& stream) {
  constexpr int kBytes = (kTileRows<D> + 4 * Cut<D>::kForwardKeys) * D * 2;
  allow_shared(forward<D>, kBytes);
  const dim3 grid(static_cast<unsigned>(tiles.query_count), static_cast<unsigned>(shape.heads));
  forward<D><<<grid, kThreads, kBytes, stream.get()>>>(shape, tiles, projections, out, log_sums);
  require_launched("attention_tensor");
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

}  // namespace rlflow::cuda
