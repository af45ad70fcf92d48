// Embedding, norms, gates, and keys and values into their pages: everything of a generation step but products,
// attention and sampling.
#include "nodes/cuda/decode_rows.h"

#include "nodes/cuda/decode_launch.h"
#include "nodes/cuda/element_math.cuh"

namespace rlflow::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void embed_kernel(const StepRow* rows, const T* embedding, int size, float scale, float* hidden) {
  const StepRow row = rows[blockIdx.x];
  float* out = hidden + static_cast<std::int64_t>(blockIdx.x) * size;
  const T* from = embedding + static_cast<std::int64_t>(row.token) * size;
  for (int i = threadIdx.x; i < size; i += kThreads) out[i] = row.table < 0 ? 0.0f : widened(from[i]) * scale;
}

template <class T>
__device__ inline float norm_scale(const float* x, int size, float eps) {
  float total = 0;
  for (int i = threadIdx.x; i < size; i += kThreads) total += x[i] * x[i];
  return 1.0f / sqrtf(block_sum<kThreads>(total) / static_cast<float>(size) + eps);
}

template <class T>
__global__ void norm_kernel(const float* x, const std::int32_t* gather, int size, const T* weight, float offset,
                            float eps, T* y) {
  x += static_cast<std::int64_t>(gather ? gather[blockIdx.x] : blockIdx.x) * size;
  y += static_cast<std::int64_t>(blockIdx.x) * size;
  const float scale = norm_scale<T>(x, size, eps);
  for (int i = threadIdx.x; i < size; i += kThreads) {
    y[i] = narrowed<T>(x[i] * scale * (widened(weight[i]) + offset));
  }
}

// The same in bf16 for rows of at most kThreads·4·kFours elements, a multiple of 4, which threads keep,
// four at a time.
constexpr int kFours = 4;
__global__ void norm_fours_kernel(const float* x, const std::int32_t* gather, int size, const __nv_bfloat16* weight,
                                  float offset, float eps, __nv_bfloat16* y) {
  x += static_cast<std::int64_t>(gather ? gather[blockIdx.x] : blockIdx.x) * size;
  y += static_cast<std::int64_t>(blockIdx.x) * size;
  float4 kept[kFours];
  uint2 weights[kFours];
  float total = 0;
#pragma unroll
  for (int k = 0; k < kFours; ++k) {
    const int i = 4 * (threadIdx.x + k * kThreads);
    if (i >= size) continue;
    kept[k] = *reinterpret_cast<const float4*>(x + i);
    weights[k] = *reinterpret_cast<const uint2*>(weight + i);
    total += kept[k].x * kept[k].x + kept[k].y * kept[k].y + kept[k].z * kept[k].z + kept[k].w * kept[k].w;
  }
  const float scale = 1.0f / sqrtf(block_sum<kThreads>(total) / static_cast<float>(size) + eps);
#pragma unroll
  for (int k = 0; k < kFours; ++k) {
    const int i = 4 * (threadIdx.x + k * kThreads);
    if (i >= size) continue;
    const auto* w = reinterpret_cast<const __nv_bfloat16*>(&weights[k]);
    __nv_bfloat16 out[4] = {narrowed<__nv_bfloat16>(kept[k].x * scale * (widened(w[0]) + offset)),
                            narrowed<__nv_bfloat16>(kept[k].y * scale * (widened(w[1]) + offset)),
                            narrowed<__nv_bfloat16>(kept[k].z * scale * (widened(w[2]) + offset)),
                            narrowed<__nv_bfloat16>(kept[k].w * scale * (widened(w[3]) + offset))};
    *reinterpret_cast<uint2*>(y + i) = *reinterpret_cast<const uint2*>(out);
  }
}

template <class T>
__global__ void add_normed_kernel(const float* branch, int size, const T* weight, float offset, float eps,
                                  float* hidden) {
  branch += static_cast<std::int64_t>(blockIdx.x) * size;
  hidden += static_cast<std::int64_t>(blockIdx.x) * size;
  const float scale = norm_scale<T>(branch, size, eps);
  for (int i = threadIdx.x; i < size; i += kThreads) {
    hidden[i] += branch[i] * scale * (widened(weight[i]) + offset);
  }
}

template <class T>
__global__ void add_bias_kernel(const T* bias, int size, float* hidden) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < size) hidden[static_cast<std::int64_t>(blockIdx.y) * size + i] += widened(bias[i]);
}

template <class T>
__global__ void gate_kernel(const T* gate_up, const T* bias, int size, bool gelu, T* y) {
  gate_up += static_cast<std::int64_t>(blockIdx.y) * 2 * size;
  y += static_cast<std::int64_t>(blockIdx.y) * size;
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= size) return;
  const float gate = widened(gate_up[i]) + (bias ? widened(bias[i]) : 0.0f);
  const float up = widened(gate_up[size + i]) + (bias ? widened(bias[size + i]) : 0.0f);
  y[i] = narrowed<T>(activated(gate, gelu) * up);
}

// The same in bf16 without a bias, eight elements a thread.
__global__ void gate_eights_kernel(const uint4* gate_up, int eights, bool gelu, uint4* y) {
  gate_up += static_cast<std::int64_t>(blockIdx.y) * 2 * eights;
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= eights) return;
  const uint4 gates = gate_up[i], ups = gate_up[eights + i];
  const auto *gate = reinterpret_cast<const __nv_bfloat16*>(&gates), *up = reinterpret_cast<const __nv_bfloat16*>(&ups);
  uint4 out;
  auto* to = reinterpret_cast<__nv_bfloat16*>(&out);
#pragma unroll
  for (int k = 0; k < 8; ++k) to[k] = narrowed<__nv_bfloat16>(activated(widened(gate[k]), gelu) * widened(up[k]));
  y[static_cast<std::int64_t>(blockIdx.y) * eights + i] = out;
}

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

__global__ void change_pages_kernel(const PageChange* changes, int count, std::int32_t* tables) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) tables[changes[i].at] = changes[i].page;
}

// One warp a head; lanes hold dimensions i and i + half of the turned pairs.
template <class T>
__global__ void store_kernel(const StepRow* rows, float* projections, const T* bias, PagedShape shape, HeadNorms norms,
                             Rotary rotary, KvPages pages) {
  const StepRow row = rows[blockIdx.x];
  if (row.table < 0) return;
  const int size = shape.head_dim, half = size / 2, lane = threadIdx.x % 32;
  const int head = blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32;
  const int all = shape.heads + 2 * shape.kv_heads;
  if (head >= all) return;
  float* x = projections + (static_cast<std::int64_t>(blockIdx.x) * all + head) * size;
  if (bias) {
    for (int i = lane; i < size; i += 32) x[i] += widened(bias[head * size + i]);
    __syncwarp();
  }
  const bool query = head < shape.heads, value = head >= shape.heads + shape.kv_heads;
  const int pair = (row.prefix + kPageTokens - 1) / kPageTokens + row.own / kPageTokens;
  const std::int64_t page = pages.tables[row.table * pages.table_stride + pair];
  const int kv_head = query ? 0 : (head - shape.heads) % shape.kv_heads;
  const std::int64_t part = static_cast<std::int64_t>(shape.kv_heads) * kPageTokens * size;
  T* to = static_cast<T*>(pages.layer) + page * pages.page_stride + (value ? part : 0) +
          (static_cast<std::int64_t>(kv_head) * kPageTokens + row.own % kPageTokens) * size;
  if (value) {
    for (int i = lane; i < size; i += 32) to[i] = narrowed<T>(x[i]);
    return;
  }
  const T* weight = static_cast<const T*>(query ? norms.query : norms.key);
  float scale = 1;
  if (weight) {
    float total = 0;
    for (int i = lane; i < size; i += 32) total += x[i] * x[i];
    scale = 1.0f / sqrtf(warp_sum(total) / static_cast<float>(size) + norms.eps);
  }
  const std::int64_t position = row.prefix + row.own;
  for (int i = lane; i < half; i += 32) {
    float a = x[i], b = x[i + half];
    if (weight) {
      a = a * scale * (widened(weight[i]) + norms.offset);
      b = b * scale * (widened(weight[i + half]) + norms.offset);
    }
    const float c = rotary.cos[position * half + i], s = rotary.sin[position * half + i];
    const T low = narrowed<T>(a * c - b * s), high = narrowed<T>(b * c + a * s);
    if (query) {
      x[i] = widened(low);
      x[i + half] = widened(high);
    } else {
      to[i] = low;
      to[i + half] = high;
    }
  }
}

}  // namespace

void embed_rows(const Stream& stream, const StepRow* rows, int count, const void* embedding, Element element, int size,
                float scale, float* hidden) {
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    launch(embed_kernel<T>, dim3(count), kThreads, 0, stream, rows, static_cast<const T*>(embedding), size, scale,
           hidden);
  });
}

void norm_rows(const Stream& stream, const float* x, int count, int size, const RowNorm& norm, Element element,
               void* y) {
  norm_gathered_rows(stream, x, nullptr, count, size, norm, element, y);
}

void norm_gathered_rows(const Stream& stream, const float* x, const std::int32_t* gather, int count, int size,
                        const RowNorm& norm, Element element, void* y) {
  if (element == Element::bf16 && size % 4 == 0 && size <= 4 * kFours * kThreads && aligned(norm.weight)) {
    launch(norm_fours_kernel, dim3(count), kThreads, 0, stream, x, gather, size,
           static_cast<const __nv_bfloat16*>(norm.weight), norm.offset, norm.eps, static_cast<__nv_bfloat16*>(y));
    return;
  }
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    launch(norm_kernel<T>, dim3(count), kThreads, 0, stream, x, gather, size, static_cast<const T*>(norm.weight),
           norm.offset, norm.eps, static_cast<T*>(y));
  });
}

void add_normed_rows(const Stream& stream, const float* branch, int count, int size, const RowNorm& norm,
                     Element element, float* hidden) {
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    launch(add_normed_kernel<T>, dim3(count), kThreads, 0, stream, branch, size, static_cast<const T*>(norm.weight),
           norm.offset, norm.eps, hidden);
  });
}

void add_bias_rows(const Stream& stream, const void* bias, int count, int size, Element element, float* hidden) {
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    launch(add_bias_kernel<T>, dim3((size + kThreads - 1) / kThreads, count), kThreads, 0, stream,
           static_cast<const T*>(bias), size, hidden);
  });
}

void change_pages(const Stream& stream, const PageChange* changes, int count, std::int32_t* tables) {
  launch(change_pages_kernel, dim3((count + kThreads - 1) / kThreads), kThreads, 0, stream, changes, count, tables);
}

void gate_rows(const Stream& stream, const void* gate_up, const void* bias, int count, int size, Gate gate,
               Element element, void* y) {
  if (element == Element::bf16 && !bias && size % 8 == 0) {
    const int eights = size / 8;
    launch(gate_eights_kernel, dim3((eights + kThreads - 1) / kThreads, count), kThreads, 0, stream,
           static_cast<const uint4*>(gate_up), eights, gate == Gate::gelu_tanh, static_cast<uint4*>(y));
    return;
  }
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    launch(gate_kernel<T>, dim3((size + kThreads - 1) / kThreads, count), kThreads, 0, stream,
           static_cast<const T*>(gate_up), static_cast<const T*>(bias), size, gate == Gate::gelu_tanh,
           static_cast<T*>(y));
  });
}

void store_rows(const Stream& stream, const StepRow* rows, int count, float* projections, const void* bias,
                const PagedShape& shape, const HeadNorms& norms, const Rotary& rotary, const KvPages& pages,
                Element element) {
  constexpr int kWarps = 4;
  const int all = shape.heads + 2 * shape.kv_heads;
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    launch(store_kernel<T>, dim3(count, (all + kWarps - 1) / kWarps), 32 * kWarps, 0, stream, rows, projections,
           static_cast<const T*>(bias), shape, norms, rotary, pages);
  });
}

}  // namespace rlflow::cuda
