// Attention of rows over their pages, any shape and element: one block a row and head of keys, its query heads in turn.
#include "nodes/cuda/decode_launch.h"
#include "nodes/cuda/element_math.cuh"

namespace rlflow::cuda {
namespace {

constexpr int kThreads = 128;

// Scores of kThreads keys at a time, softmax kept by running maximum and sum.
template <class T>
__global__ void attend_kernel(const StepRow* rows, const float* projections, PagedShape shape, KvPages pages, T* out) {
  extern __shared__ float shared[];  // q [head_dim], weights [kThreads]
  const StepRow row = rows[blockIdx.x];
  const int size = shape.head_dim, kv_head = blockIdx.y, repeats = shape.heads / shape.kv_heads;
  const int all = shape.heads + 2 * shape.kv_heads;
  float *q = shared, *weights = shared + size;
  const std::int32_t* table = pages.tables + row.table * pages.table_stride;
  const std::int64_t part = static_cast<std::int64_t>(shape.kv_heads) * kPageTokens * size;
  const int visible = row.prefix + row.own + 1;
  const int first = shape.window > 0 ? max(0, visible - shape.window) : 0;
  const int own_pages = (row.prefix + kPageTokens - 1) / kPageTokens;
  const auto key_at = [&](int j) {
    const bool own = j >= row.prefix;
    const int at = own ? j - row.prefix : j;
    const std::int64_t page = table[(own ? own_pages : 0) + at / kPageTokens];
    return static_cast<const T*>(pages.layer) + page * pages.page_stride +
           (static_cast<std::int64_t>(kv_head) * kPageTokens + at % kPageTokens) * size;
  };
  for (int head = kv_head * repeats; head < (kv_head + 1) * repeats; ++head) {
    T* to = out + (static_cast<std::int64_t>(blockIdx.x) * shape.heads + head) * size;
    if (row.table < 0) {
      for (int d = threadIdx.x; d < size; d += kThreads) to[d] = narrowed<T>(0.0f);
      continue;
    }
    __syncthreads();
    const float* from = projections + (static_cast<std::int64_t>(blockIdx.x) * all + head) * size;
    for (int d = threadIdx.x; d < size; d += kThreads) q[d] = from[d];
    __syncthreads();
    float top = -INFINITY, mass = 0, mixed[4] = {};
    for (int begin = first; begin < visible; begin += kThreads) {
      const int j = begin + threadIdx.x;
      float score = -INFINITY;
      if (j < visible) {
        const T* key = key_at(j);
        float total = 0;
        for (int d = 0; d < size; ++d) total += q[d] * widened(key[d]);
        score = total * shape.scale;
      }
      const float larger = fmaxf(top, block_max<kThreads>(score));
      const float weight = expf(score - larger);
      weights[threadIdx.x] = weight;
      const float keep = expf(top - larger);
      mass = mass * keep + block_sum<kThreads>(weight);
      top = larger;
      const int count = min(kThreads, visible - begin);
      for (int k = 0, d = threadIdx.x; d < size; d += kThreads, ++k) {
        float total = mixed[k] * keep;
        for (int i = 0; i < count; ++i) total += weights[i] * widened(key_at(begin + i)[part + d]);
        mixed[k] = total;
      }
      __syncthreads();
    }
    for (int k = 0, d = threadIdx.x; d < size; d += kThreads, ++k) to[d] = narrowed<T>(mixed[k] / mass);
  }
}

}  // namespace

void attend_rows(const Stream& stream, const StepRow* rows, int count, const float* projections,
                 const PagedShape& shape, const KvPages& pages, Element element, void* out) {
  if (shape.head_dim > 4 * kThreads) throw std::runtime_error("attention on a GPU needs head_dim of at most 512");
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    launch(attend_kernel<T>, dim3(count, shape.kv_heads), kThreads, (shape.head_dim + kThreads) * sizeof(float), stream,
           rows, projections, shape, pages, static_cast<T*>(out));
  });
}

}  // namespace rlflow::cuda
