// The output head and the draw from it in one: no logits are stored.
#include <algorithm>

#include "nodes/cuda/draw_math.cuh"
#include "nodes/cuda/few_rows.cuh"

namespace rlflow::cuda {
namespace {

constexpr int kWarps = kHeadTile / 16, kThreads = 32 * kWarps;

// One warp a row: each lane has four tokens that adjoin.
__device__ DrawState draw_tile(const float* logits, int first, int vocabulary, const Draw& draw, float scale,
                               const SamplerSettings& settings) {
  const int v = first + 4 * (threadIdx.x % 32);
  const bool without_end = draw.position < settings.min_new;
  DrawState state;
  PhiloxWords words{};
  if (!settings.greedy) words = philox_words(v / 4, draw.position, draw.key);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (v + k >= vocabulary) break;
    const float logit = logits[v - first + k] * scale, scaled = logit * settings.inverse_temperature;
    state.see(scaled);
    if (without_end && is_end(settings, v + k)) continue;
    const float value = settings.greedy ? logit : scaled + gumbel(words.word[k]);
    if (value > -INFINITY) state.offer(value, logit, v + k);
  }
  join_warp(state);
  return state;
}

template <int kGroups>
__global__ void __launch_bounds__(kThreads) draw_kernel(const bf16* x, const float* squares, int count, float eps,
                                                        const bf16* weights, int vocabulary, int inputs,
                                                        const Draw* draws, const SamplerSettings* from,
                                                        DrawPart* parts) {
  let_next_begin();
  extern __shared__ __align__(16) char memory[];
  __shared__ float scales[8 * kGroups];
  __shared__ SamplerSettings settings;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.x * kHeadTile;
  const int output = min(first + 16 * warp, vocabulary - 16);  // tiles past the end repeat the last one
  const bf16* own[1] = {weights + static_cast<std::int64_t>(output + lane / 4) * inputs + 16 * (lane % 4)};
  Multiply<1, kGroups, 1, 4> product(own, inputs, inputs / 64, 0);
  if (threadIdx.x == 0) settings = *from;
  StagedRows staged{reinterpret_cast<bf16*>(memory), StagedRows::stride_of(inputs)};
  wait_for_earlier();
  staged.copy(x, count, inputs, 0, inputs);
  row_scales(squares, count, inputs, eps, scales);
  staged.wait();
  __syncthreads();
  product.run(staged, count);
  __syncthreads();
  SharedSums<kHeadTile, 8 * kGroups> sums{reinterpret_cast<float*>(memory)};
  if (first + 16 * warp < vocabulary) sums.put(0, 16 * warp, product.sums[0]);
  __syncthreads();
  for (int row = warp; row < count; row += kWarps) {
    const Draw draw = draws[row];
    if (draw.row < 0) continue;
    const DrawState state = draw_tile(sums.sums + row * sums.kStride, first, vocabulary, draw, scales[row], settings);
    if (lane == 0) {
      parts[static_cast<std::int64_t>(row) * gridDim.x + blockIdx.x] = {state.top,   state.mass,  state.best,
                                                                       state.token, state.logit, {}};
    }
  }
}

template <int kGroups>
void launch_draw(const Stream& stream, const Weighted& x, int count, float eps, const void* weights, int vocabulary,
                 int inputs, const Draw* draws, const SamplerSettings* settings, DrawPart* parts) {
  const std::size_t bytes =
      std::max(StagedRows::bytes(count, inputs), SharedSums<kHeadTile, 8 * kGroups>::kFloats * sizeof(float));
  allow_shared(draw_kernel<kGroups>, bytes);
  launch_dependent(draw_kernel<kGroups>, dim3(head_tiles(vocabulary)), kThreads, bytes, stream,
                   static_cast<const bf16*>(x.x), x.squares, count, eps, static_cast<const bf16*>(weights), vocabulary,
                   inputs, draws, settings, parts);
}

}  // namespace

void draw_few_rows(const Stream& stream, const Weighted& x, int count, float eps, const void* weights, int vocabulary,
                   int inputs, const Draw* draws, const SamplerSettings* settings, DrawPart* parts) {
  const auto go = count <= 8 ? launch_draw<1> : count <= 16 ? launch_draw<2> : count <= 32 ? launch_draw<4> : launch_draw<8>;
  go(stream, x, count, eps, weights, vocabulary, inputs, draws, settings, parts);
}

}  // namespace rlflow::cuda
