// Draws: parts of the vocabulary each on their own, then the parts together.
#include "nodes/cuda/sample_rows.h"

#include "nodes/cuda/dependent_launch.cuh"
#include "nodes/cuda/draw_math.cuh"
#include "nodes/cuda/element_math.cuh"

namespace rlflow::cuda {
namespace {

constexpr int kThreads = 256;

template <int kCount>
__device__ DrawState join_block(DrawState state) {
  __shared__ DrawState parts[kCount / 32];
  join_warp(state);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = state;
  __syncthreads();
  state = parts[0];
  for (int i = 1; i < kCount / 32; ++i) state.join(parts[i]);
  return state;
}

__global__ void parts_kernel(const Draw* draws, const float* logits, int vocabulary, const SamplerSettings* from,
                             const float* floors, DrawPart* parts) {
  const Draw draw = draws[blockIdx.x];
  if (draw.row < 0) return;
  __shared__ SamplerSettings settings;
  if (threadIdx.x == 0) settings = *from;
  __syncthreads();
  const float* z = logits + static_cast<std::int64_t>(draw.row) * vocabulary;
  const DrawInput input{draw, 1.0f, floors ? floors[blockIdx.x] : -INFINITY};
  DrawState state;
  float best = -INFINITY;
  const int begin = blockIdx.y * kDrawTile;
#pragma unroll 2
  for (int at = 0; at < kDrawTile; at += 4 * kThreads) {
    const int v = begin + at + 4 * threadIdx.x;
    float given[4];
    if (vocabulary % 4 == 0 && v < vocabulary) {
      const float4 four = *reinterpret_cast<const float4*>(z + v);
      given[0] = four.x, given[1] = four.y, given[2] = four.z, given[3] = four.w;
    } else {
      for (int k = 0; k < 4; ++k) given[k] = v + k < vocabulary ? z[v + k] : -INFINITY;
    }
    see_logits(given, v, input, settings, best, state);
  }
  state = join_block<kThreads>(state);
  if (threadIdx.x == 0) {
    parts[static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y] = {state.top,   state.mass,  state.best,
                                                                             state.token, state.logit, {}};
  }
}

// One block a draw.
constexpr int kCombineThreads = 256;

__device__ Drawn combined(const DrawPart* parts, int tiles, const SamplerSettings& settings) {
  DrawState state;
  for (int i = threadIdx.x; i < tiles; i += kCombineThreads) {
    DrawState part;
    part.top = parts[i].top;
    part.mass = parts[i].mass;
    part.best = parts[i].best;
    part.token = parts[i].token;
    part.logit = parts[i].logit;
    state.join(part);
  }
  state = join_block<kCombineThreads>(state);
  if (state.token == kNoToken) return {0, NAN};  // no number among the logits
  return {state.token, (state.logit * settings.inverse_temperature - state.top) - logf(state.mass)};
}

__global__ void combine_kernel(const Draw* draws, const DrawPart* parts, int tiles, const SamplerSettings* settings,
                               Drawn* drawn) {
  if (draws[blockIdx.x].row < 0) return;
  const Drawn result = combined(parts + static_cast<std::int64_t>(blockIdx.x) * tiles, tiles, *settings);
  if (threadIdx.x == 0) drawn[blockIdx.x] = result;
}

__global__ void advance_kernel(const DrawPart* parts, int tiles, const SamplerSettings* settings,
                               RowProgress progress) {
  const int r = blockIdx.x;
  wait_for_earlier();
  StepRow& row = progress.rows[r];
  if (row.table < 0) return;
  const Drawn result = combined(parts + static_cast<std::int64_t>(r) * tiles, tiles, *settings);
  if (threadIdx.x != 0) return;
  progress.drawn[static_cast<std::int64_t>(r) * progress.most_steps + progress.produced[r]] = result;
  ++progress.produced[r];
  ++progress.draws[r].position;
  row.token = result.token;
  ++row.own;
  if (is_end(*settings, result.token) || progress.draws[r].position >= settings->max_new) {
    row.table = -1;
    progress.draws[r].row = -1;
  }
}

}  // namespace

void draw_parts(const Stream& stream, const Draw* draws, int count, const float* logits, int vocabulary,
                const SamplerSettings* settings, const float* floors, DrawPart* parts) {
  launch(parts_kernel, dim3(count, draw_tiles(vocabulary)), kThreads, 0, stream, draws, logits, vocabulary, settings,
         floors, parts);
}

void combine_parts(const Stream& stream, const Draw* draws, int count, const DrawPart* parts, int tiles,
                   const SamplerSettings* settings, Drawn* drawn) {
  launch(combine_kernel, dim3(count), kCombineThreads, 0, stream, draws, parts, tiles, settings, drawn);
}

void combine_and_advance(const Stream& stream, int count, const DrawPart* parts, int tiles,
                         const SamplerSettings* settings, const RowProgress& progress) {
  launch_dependent(advance_kernel, dim3(count), kCombineThreads, 0, stream, parts, tiles, settings, progress);
}

}  // namespace rlflow::cuda
