// AdamW over one flat buffer on the device.
#include <cuda_bf16.h>

#include <algorithm>

#include "nodes/cuda/adam.h"
#include "nodes/cuda/status.h"

namespace rlflow::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kNormBlocks = 132 * 8;
static_assert(kNormBlocks * sizeof(double) <= kNormScratch);

__device__ double block_sum(double value) {
  __shared__ double shared[kThreads];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  return shared[0];
}

__global__ void __launch_bounds__(kThreads) square_sums(const float* x, std::int64_t count, double* sums) {
  double sum = 0;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads, whole = count / 4;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < whole; i += step) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    sum += (static_cast<double>(v.x) * v.x + static_cast<double>(v.y) * v.y) +
           (static_cast<double>(v.z) * v.z + static_cast<double>(v.w) * v.w);
  }
  if (blockIdx.x == 0 && threadIdx.x < count % 4) {
    const double v = x[whole * 4 + threadIdx.x];
    sum += v * v;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    finish_norm(const double* sums, int count, double clip, GradientScale* out) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += sums[i];
  sum = block_sum(sum);
  if (threadIdx.x != 0) return;
  out->norm = sqrt(sum);
  out->finite = isfinite(out->norm) ? 1 : 0;
  out->scale = clip > 0 ? static_cast<float>(min(1.0, clip / (out->norm + 1e-6))) : 1.0f;
}

// Does element i lie in one of the ranges? They are few and stand in the cache.
__device__ bool in_ranges(std::int64_t i, const std::int64_t* bounds, std::int64_t ranges) {
  std::int64_t low = 0, high = ranges;  // the number of begins ≤ i lies in [low, high]
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (bounds[2 * middle] <= i) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low > 0 && i < bounds[2 * low - 1];
}

__device__ float stepped(const AdamSettings& s, float scale, float decay, float gradient, float p, float& m, float& v) {
  const float keep = 1.0f - s.learning_rate * decay;
  const float size = s.learning_rate / s.correction1;
  const float g = gradient * scale;
  m = m + (g - m) * (1.0f - s.beta1);
  v = v * s.beta2 + g * g * (1.0f - s.beta2);
  const float root = sqrtf(v) / s.root_correction2 + s.eps;
  return p * keep - size * (m / root);
}

__global__ void __launch_bounds__(kThreads)
    adam_all(AdamSettings settings, const GradientScale* gradient_scale, const std::int64_t* undecayed,
             std::int64_t ranges, std::int64_t count, float* parameters, __nv_bfloat16* weights, const float* gradient,
             float* moment1, float* moment2) {
  if (gradient_scale->finite == 0) return;
  const float scale = gradient_scale->scale;
  const std::int64_t begin = 4 * (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x);
  if (begin >= count) return;
  auto decay_of = [&](std::int64_t i) { return in_ranges(i, undecayed, ranges) ? 0.0f : settings.decay; };
  if (begin + 4 <= count) {
    float4 p = *reinterpret_cast<float4*>(parameters + begin), m = *reinterpret_cast<float4*>(moment1 + begin);
    float4 v = *reinterpret_cast<float4*>(moment2 + begin);
    const float4 g = *reinterpret_cast<const float4*>(gradient + begin);
    const bool decays = settings.decay != 0;
    p.x = stepped(settings, scale, decays ? decay_of(begin) : 0, g.x, p.x, m.x, v.x);
    p.y = stepped(settings, scale, decays ? decay_of(begin + 1) : 0, g.y, p.y, m.y, v.y);
    p.z = stepped(settings, scale, decays ? decay_of(begin + 2) : 0, g.z, p.z, m.z, v.z);
    p.w = stepped(settings, scale, decays ? decay_of(begin + 3) : 0, g.w, p.w, m.w, v.w);
    *reinterpret_cast<float4*>(parameters + begin) = p;
    *reinterpret_cast<float4*>(moment1 + begin) = m;
    *reinterpret_cast<float4*>(moment2 + begin) = v;
    if (weights != nullptr) {
      __nv_bfloat162 packed[2] = {__floats2bfloat162_rn(p.x, p.y), __floats2bfloat162_rn(p.z, p.w)};
      *reinterpret_cast<uint2*>(weights + begin) = *reinterpret_cast<uint2*>(packed);
    }
    return;
  }
  for (std::int64_t i = begin; i < count; ++i) {
    parameters[i] = stepped(settings, scale, decay_of(i), gradient[i], parameters[i], moment1[i], moment2[i]);
    if (weights != nullptr) weights[i] = __float2bfloat16_rn(parameters[i]);
  }
}

}  // namespace

void gradient_scale(const float* gradient, std::int64_t count, double clip, void* scratch, GradientScale* out,
                    const Stream& stream) {
  auto* sums = static_cast<double*>(scratch);
  square_sums<<<kNormBlocks, kThreads, 0, stream.get()>>>(gradient, count, sums);
  require_launched("square_sums");
  finish_norm<<<1, kThreads, 0, stream.get()>>>(sums, kNormBlocks, clip, out);
  require_launched("finish_norm");
}

void adam_step(const AdamSettings& settings, const GradientScale* scale, const std::int64_t* undecayed,
               std::int64_t ranges, std::int64_t count, float* parameters, void* weights, const float* gradient,
               float* moment1, float* moment2, const Stream& stream) {
  const std::int64_t blocks = (count + 4 * kThreads - 1) / (4 * kThreads);
  adam_all<<<static_cast<unsigned>(blocks), kThreads, 0, stream.get()>>>(
      settings, scale, undecayed, ranges, count, parameters, static_cast<__nv_bfloat16*>(weights), gradient, moment1,
      moment2);
  require_launched("adam_step");
}

}  // namespace rlflow::cuda
