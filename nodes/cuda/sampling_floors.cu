// Which logits truncated sampling keeps: top_k, then top_p of these, then min_p.
//
// Both borders are the largest number t for which a sum over the logits of at least t (their count, their probability)
// reaches a goal. It is searched among all floats, eight at a time, so nothing is sorted and no order of additions
// depends on timing.
#include <cmath>

#include "nodes/cuda/decode_launch.h"
#include "nodes/cuda/draw_math.cuh"
#include "nodes/cuda/element_math.cuh"

namespace rlflow::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr int kProbes = 8;

// Floats in ascending order as unsigned numbers.
__device__ inline std::uint32_t rank_of(float x) {
  const std::uint32_t bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ inline float float_of(std::uint32_t rank) {
  return __uint_as_float(rank & 0x80000000u ? rank & 0x7fffffffu : ~rank);
}

struct Logits {
  const float* z;
  int count;
  const SamplerSettings* settings;
  bool without_end;
  __device__ float operator[](int v) const { return without_end && is_end(*settings, v) ? -INFINITY : z[v]; }
};

// The largest t of [low, high] with Σ_{z ≥ t} weight(z) ≥ goal; low where none reaches it.
template <class Weight>
__device__ float border(const Logits& logits, float low, float high, double goal, const Weight& weight) {
  __shared__ double parts[kProbes][kThreads / 32];
  __shared__ double sums[kProbes];
  std::uint32_t from = rank_of(low), to = rank_of(high);  // `from` holds, what lies above `to` does not
  while (from < to) {
    std::uint32_t probes[kProbes];
    const std::uint64_t span = to - from;
    double total[kProbes] = {};
    for (int k = 0; k < kProbes; ++k)
      probes[k] = from + static_cast<std::uint32_t>((span * (k + 1) + kProbes - 1) / kProbes);
    for (int v = threadIdx.x; v < logits.count; v += kThreads) {
      const float z = logits[v];
      const std::uint32_t rank = rank_of(z);
      if (!(z == z) || rank < probes[0]) continue;
      const double w = weight(z);
      for (int k = 0; k < kProbes; ++k) total[k] += rank >= probes[k] ? w : 0.0;
    }
    for (int k = 0; k < kProbes; ++k) {
      for (int step = 16; step > 0; step /= 2) total[k] += __shfl_xor_sync(0xffffffffu, total[k], step);
      if (threadIdx.x % 32 == 0) parts[k][threadIdx.x / 32] = total[k];
    }
    __syncthreads();
    if (threadIdx.x < kProbes) {
      double sum = 0;
      for (int i = 0; i < kThreads / 32; ++i) sum += parts[threadIdx.x][i];
      sums[threadIdx.x] = sum;
    }
    __syncthreads();
    std::uint32_t next_from = from, next_to = to;
    for (int k = kProbes; k-- > 0;) {
      if (sums[k] >= goal) {
        next_from = probes[k];
        break;
      }
      next_to = probes[k] - 1;
    }
    from = next_from;
    to = next_to;
    __syncthreads();
  }
  return float_of(from);
}

__global__ void __launch_bounds__(kThreads)
    floors_kernel(const Draw* draws, const float* z, int vocabulary, const SamplerSettings* settings, float* floors) {
  const Draw draw = draws[blockIdx.x];
  if (draw.row < 0) return;
  const Logits logits{z + static_cast<std::int64_t>(draw.row) * vocabulary, vocabulary, settings,
                      draw.position < settings->min_new};
  float lowest = INFINITY, top = -INFINITY;
  for (int v = threadIdx.x; v < vocabulary; v += kThreads) {
    top = fmaxf(top, logits[v]);
    lowest = fminf(lowest, logits[v]);
  }
  top = block_max<kThreads>(top);
  lowest = -block_max<kThreads>(-lowest);
  float floor = -INFINITY;
  if (fabsf(top) < INFINITY) {
    const float inverse = settings->inverse_temperature;
    if (settings->top_k > 0 && settings->top_k < vocabulary) {
      floor = border(logits, lowest, top, static_cast<double>(settings->top_k), [](float) { return 1.0; });
    }
    if (settings->top_p < 1) {
      const auto weight = [&](float logit) { return static_cast<double>(expf((logit - top) * inverse)); };
      double mass = 0;
      for (int v = threadIdx.x; v < vocabulary; v += kThreads) {
        if (logits[v] >= floor) mass += weight(logits[v]);
      }
      __shared__ double parts[kThreads / 32];
      for (int step = 16; step > 0; step /= 2) mass += __shfl_xor_sync(0xffffffffu, mass, step);
      if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mass;
      __syncthreads();
      mass = 0;
      for (double part : parts) mass += part;
      floor = border(logits, fmaxf(floor, lowest), top, settings->top_p * mass, weight);
    }
    if (settings->min_p > 0) {
      const float least = top + logf(static_cast<float>(settings->min_p)) / inverse;
      if (least > floor) floor = fminf(least, top);
    }
  }
  if (threadIdx.x == 0) floors[blockIdx.x] = floor;
}

}  // namespace

void sampling_floors(const Stream& stream, const Draw* draws, int count, const float* logits, int vocabulary,
                     const SamplerSettings* settings, float* floors) {
  launch(floors_kernel, dim3(count), kThreads, 0, stream, draws, logits, vocabulary, settings, floors);
}

}  // namespace rlflow::cuda
