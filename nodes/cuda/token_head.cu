// From logits to log-probabilities and entropies of tokens, and back. A block has a row.
#include "nodes/cuda/status.h"
#include "nodes/cuda/token_head.h"
#include "nodes/cuda/vectors.h"

namespace rlflow::cuda {
namespace {

constexpr int kThreads = 512;

// The largest value, Σe and Σe·(x−top) of e = e^(x−top).
struct Softmax {
  float top, mass, weighted;
};

__device__ Softmax joined(Softmax a, Softmax b) {
  const float top = fmaxf(a.top, b.top);
  if (top == -INFINITY) return {top, 0, 0};
  const float ga = a.top - top, gb = b.top - top, ea = expf(ga), eb = expf(gb);
  // e·(x − new top) = e·(x − top) + e·(top − new top); where a mass is 0 so is what it weighs.
  const float wa = a.mass > 0 ? ea * (a.weighted + a.mass * ga) : 0,
              wb = b.mass > 0 ? eb * (b.weighted + b.mass * gb) : 0;
  return {top, a.mass * ea + b.mass * eb, wa + wb};
}

template <int V>
__device__ Softmax add_vector(Softmax s, const float (&x)[V]) {
  float top = s.top;
#pragma unroll
  for (int k = 0; k < V; ++k) top = fmaxf(top, x[k]);
  if (top == -INFINITY) return s;
  if (top > s.top) {
    const float gap = s.top - top, e = expf(gap);
    s.weighted = s.mass > 0 ? e * (s.weighted + s.mass * gap) : 0;
    s.mass *= e;
    s.top = top;
  }
#pragma unroll
  for (int k = 0; k < V; ++k) {
    const float shifted = x[k] - top, e = expf(shifted);
    s.mass += e;
    s.weighted += e > 0 ? e * shifted : e;  // not 0·(−∞); a NaN stays
  }
  return s;
}

template <int V>
__global__ void __launch_bounds__(kThreads)
    read_rows(const float* logits, std::int64_t vocabulary, float inverse_temperature, RowTargets targets,
              RowSoftmax* softmax, float* logprob, float* entropy) {
  __shared__ Softmax shared[kThreads / kWarp];
  const std::int64_t u = blockIdx.x;
  const float* z = logits + u * vocabulary;
  Softmax s{-INFINITY, 0, 0};
  for (std::int64_t c = threadIdx.x * V; c < vocabulary; c += kThreads * V) {
    float x[V];
    load<float, V>(z + c, x);
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] *= inverse_temperature;
    s = add_vector<V>(s, x);
  }
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    s = joined(s, {__shfl_xor_sync(0xffffffffu, s.top, offset), __shfl_xor_sync(0xffffffffu, s.mass, offset),
                   __shfl_xor_sync(0xffffffffu, s.weighted, offset)});
  }
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = s;
  __syncthreads();
  s = shared[0];
  for (int w = 1; w < kThreads / kWarp; ++w) s = joined(s, shared[w]);
  const float log_mass = logf(s.mass);
  const RowSoftmax row{s.top + log_mass, log_mass - s.weighted / s.mass};
  if (threadIdx.x == 0) softmax[u] = row;
  for (std::int32_t i = targets.begins[u] + static_cast<std::int32_t>(threadIdx.x); i < targets.begins[u + 1];
       i += kThreads) {
    logprob[i] = (z[targets.tokens[i]] * inverse_temperature - s.top) - log_mass;
    if (entropy != nullptr) entropy[i] = row.entropy;
  }
}

// d logprob/dz_v = (1[v = token] − p_v)/T; d entropy/dz_v = −p_v·(ln p_v + entropy)/T. Reads ahead of what it writes:
// in bf16 what is written lies before what is still to be read, and a barrier parts the two.
template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    gradient_rows(float* logits, std::int64_t vocabulary, float inverse_temperature, RowTargets targets,
                  const RowSoftmax* softmax, const float* dlogprob, const float* dentropy) {
  const std::int64_t u = blockIdx.x;
  const float* z = logits + u * vocabulary;
  T* out = reinterpret_cast<T*>(logits + u * vocabulary);
  const std::int32_t begin = targets.begins[u], end = targets.begins[u + 1];
  float along = 0, spread = 0;
  for (std::int32_t i = begin; i < end; ++i) {
    along += dlogprob[i];
    spread += dentropy[i];
  }
  const RowSoftmax row = softmax[u];
  for (std::int64_t base = 0; base < vocabulary; base += kThreads * V) {
    const std::int64_t c = base + threadIdx.x * V;
    float x[V];
    if (c < vocabulary) {
      load<float, V>(z + c, x);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const float log_p = x[k] * inverse_temperature - row.log_sum, p = expf(log_p);
        const float slope = p > 0 ? p * (log_p + row.entropy) : p;
        x[k] = (p * along + slope * spread) * -inverse_temperature;
      }
      for (std::int32_t i = begin; i < end; ++i) {
        const std::int64_t at = targets.tokens[i] - c;
        if (at >= 0 && at < V) {
#pragma unroll
          for (int k = 0; k < V; ++k) x[k] += k == at ? dlogprob[i] * inverse_temperature : 0.0f;
        }
      }
    }
    if constexpr (sizeof(T) < sizeof(float)) __syncthreads();
    if (c < vocabulary) store<T, V>(out + c, x);
  }
}

template <class T>
__global__ void dot_rows(const T* x, const T* w, std::int64_t count, std::int64_t size, float* value) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (i >= count) return;
  float sum = 0;
  for (std::int64_t c = threadIdx.x % kWarp; c < size; c += kWarp) sum += widened(x[i * size + c]) * widened(w[c]);
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) value[i] = sum;
}

template <class T>
__global__ void outer_rows(const float* dvalue, const T* w, std::int64_t count, std::int64_t size, T* dx) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= count * size) return;
  const std::int64_t row = index / size;
  dx[index] = narrowed<T>(dvalue[row] * widened(w[index - row * size]));
}

__global__ void sum_of_targets(const float* numbers, const std::int32_t* begins, std::int64_t rows, float* sum) {
  const std::int64_t u = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (u >= rows) return;
  float total = 0;
  for (std::int32_t i = begins[u]; i < begins[u + 1]; ++i) total += numbers[i];
  sum[u] = total;
}

__global__ void spread_to_targets(const float* from, const std::int32_t* begins, std::int64_t rows, float* out) {
  const std::int64_t u = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (u >= rows) return;
  for (std::int32_t i = begins[u]; i < begins[u + 1]; ++i) out[i] = from[u];
}

unsigned blocks_of(std::int64_t threads, int a_block) {
  return static_cast<unsigned>((threads + a_block - 1) / a_block);
}

}  // namespace

void read_logits(const float* logits, std::int64_t rows, std::int64_t vocabulary, float inverse_temperature,
                 const RowTargets& targets, RowSoftmax* softmax, float* logprob, float* entropy, const Stream& stream) {
  if (rows == 0) return;
  const auto kernel = is_wide<float>(vocabulary, {logits}) ? read_rows<4> : read_rows<1>;
  kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream.get()>>>(logits, vocabulary, inverse_temperature, targets,
                                                                     softmax, logprob, entropy);
  require_launched("read_logits");
}

void logits_gradient(float* logits, std::int64_t rows, std::int64_t vocabulary, float inverse_temperature,
                     const RowTargets& targets, const RowSoftmax* softmax, const float* dlogprob, const float* dentropy,
                     Element type, const Stream& stream) {
  if (rows == 0) return;
  const bool wide = is_wide<float>(vocabulary, {logits});
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto kernel = wide ? gradient_rows<T, 4> : gradient_rows<T, 1>;
    kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream.get()>>>(logits, vocabulary, inverse_temperature, targets,
                                                                       softmax, dlogprob, dentropy);
  });
  require_launched("logits_gradient");
}

void read_values(Element type, const void* x, const void* w, std::int64_t count, std::int64_t size, float* value,
                 const Stream& stream) {
  if (count == 0) return;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    dot_rows<<<blocks_of(count, 8), 8 * kWarp, 0, stream.get()>>>(static_cast<const T*>(x), static_cast<const T*>(w),
                                                                  count, size, value);
  });
  require_launched("read_values");
}

void values_gradient(Element type, const float* dvalue, const void* w, std::int64_t count, std::int64_t size, void* dx,
                     const Stream& stream) {
  if (count == 0) return;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    outer_rows<<<blocks_of(count * size, 256), 256, 0, stream.get()>>>(dvalue, static_cast<const T*>(w), count, size,
                                                                       static_cast<T*>(dx));
  });
  require_launched("values_gradient");
}

void sum_targets(const float* numbers, const std::int32_t* begins, std::int64_t rows, float* sum,
                 const Stream& stream) {
  if (rows == 0) return;
  sum_of_targets<<<blocks_of(rows, 256), 256, 0, stream.get()>>>(numbers, begins, rows, sum);
  require_launched("sum_targets");
}

void spread_rows(const float* rows, const std::int32_t* begins, std::int64_t count, float* out, const Stream& stream) {
  if (count == 0) return;
  spread_to_targets<<<blocks_of(count, 256), 256, 0, stream.get()>>>(rows, begins, count, out);
  require_launched("spread_rows");
}

}  // namespace rlflow::cuda
