// The output head and the draw from it in one: no logits are stored.
#include <algorithm>

#include "nodes/cuda/draw_math.cuh"
#include "nodes/cuda/few_rows.cuh"

namespace rlflow::cuda {
namespace {

constexpr int kWarps = kHeadTile / 16, kThreads = 32 * kWarps;

constexpr int kDepth = 4;
constexpr int kBlocks = 2 * 132;  // what is resident at once

// Blocks go from tile to tile; the weights of the next are on their way while tokens are drawn from this one.
template <int kGroups>
__global__ void __launch_bounds__(kThreads, 2)
    draw_kernel(const bf16* x, const float* squares, int count, float eps, const bf16* weights, int vocabulary,
                int inputs, const Draw* draws, const SamplerSettings* from, DrawPart* parts, int tiles) {
  let_next_begin();
  extern __shared__ __align__(16) char memory[];
  __shared__ float scales[8 * kGroups];
  __shared__ SamplerSettings settings;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto weights_of = [&](int tile) {
    const int output = min(tile * kHeadTile + 16 * warp, vocabulary - 16);  // past the end the last 16 again
    return weights + static_cast<std::int64_t>(output + lane / 4) * inputs + 16 * (lane % 4);
  };
  const bf16* own[1] = {weights_of(blockIdx.x)};
  Multiply<1, kGroups, 1, kDepth> product(own, inputs, inputs / 64, 0);
  if (threadIdx.x == 0) settings = *from;
  StagedRows staged{reinterpret_cast<bf16*>(memory), StagedRows::stride_of(inputs)};
  SharedSums<kHeadTile, 8 * kGroups> sums{reinterpret_cast<float*>(memory + StagedRows::bytes(count, inputs))};
  wait_for_earlier();
  staged.copy(x, count, inputs, 0, inputs);
  row_scales(squares, count, inputs, eps, scales);
  staged.wait();
  __syncthreads();
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int first = tile * kHeadTile;
    product.run(staged, count);
    if (first + 16 * warp < vocabulary) sums.put(0, 16 * warp, product.sums[0]);
    own[0] = weights_of(tile + gridDim.x);
    product.begin(own);
    __syncthreads();
    for (int row = warp; row < count; row += kWarps) {
      const DrawInput input{draws[row], scales[row], -INFINITY};
      if (input.draw.row < 0) continue;
      const int v = first + 4 * lane;
      float given[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        given[k] = v + k < vocabulary ? sums.sums[row * sums.kStride + 4 * lane + k] : -INFINITY;
      DrawState state;
      float best = -INFINITY;
      see_logits(given, v, input, settings, best, state);
      join_warp(state);
      if (lane == 0) {
        parts[static_cast<std::int64_t>(row) * tiles + tile] = {state.top,   state.mass,  state.best,
                                                                state.token, state.logit, {}};
      }
    }
    __syncthreads();
  }
}

template <int kGroups>
void launch_draw(const Stream& stream, const Weighted& x, int count, float eps, const void* weights, int vocabulary,
                 int inputs, const Draw* draws, const SamplerSettings* settings, DrawPart* parts) {
  const std::size_t bytes =
      StagedRows::bytes(count, inputs) + SharedSums<kHeadTile, 8 * kGroups>::kFloats * sizeof(float);
  allow_shared(draw_kernel<kGroups>, bytes);
  const int tiles = head_tiles(vocabulary), blocks = std::min(tiles, kBlocks);
  launch_dependent(draw_kernel<kGroups>, dim3(blocks), kThreads, bytes, stream, static_cast<const bf16*>(x.x),
                   x.squares, count, eps, static_cast<const bf16*>(weights), vocabulary, inputs, draws, settings, parts,
                   tiles);
}

}  // namespace

void draw_few_rows(const Stream& stream, const Weighted& x, int count, float eps, const void* weights, int vocabulary,
                   int inputs, const Draw* draws, const SamplerSettings* settings, DrawPart* parts) {
  const auto go = count <= 8 ? launch_draw<1> : count <= 16 ? launch_draw<2> : launch_draw<4>;
  go(stream, x, count, eps, weights, vocabulary, inputs, draws, settings, parts);
}

}  // namespace rlflow::cuda
