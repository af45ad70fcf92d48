// Rows of the embedding, and their gradient.
#include "nodes/cuda/embedding.h"
#include "nodes/cuda/status.h"
#include "nodes/cuda/vectors.h"

namespace rlflow::cuda {
namespace {

constexpr int kThreads = 128;

template <class T, int V>
__global__ void embed_rows(const T* table, const std::int32_t* tokens, std::int64_t count, std::int64_t size,
                           float scale, T* out) {
  const std::int64_t vectors = size / V, index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= count * vectors) return;
  const std::int64_t row = index / vectors, c = (index - row * vectors) * V;
  float v[V];
  load<T, V>(table + tokens[row] * size + c, v);
#pragma unroll
  for (int k = 0; k < V; ++k) v[k] *= scale;
  store<T, V>(out + row * size + c, v);
}

template <class T>
__global__ void embed_rows_backward(const T* d, TokenGroups groups, std::int64_t size, float scale, float* dtable) {
  const std::int64_t t = blockIdx.x, c = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (c >= size) return;
  float sum = 0;
#pragma unroll 4
  for (std::int32_t i = groups.begins[t]; i < groups.begins[t + 1]; ++i) {
    sum += widened(d[static_cast<std::int64_t>(groups.rows[i]) * size + c]);
  }
  dtable[static_cast<std::int64_t>(groups.tokens[t]) * size + c] += sum * scale;
}

}  // namespace

void embed(Element type, const void* table, const std::int32_t* tokens, std::int64_t count, std::int64_t size,
           float scale, void* out, const Stream& stream) {
  if (count == 0) return;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    auto launch = [&](auto kernel, int width) {
      const std::int64_t threads = count * (size / width);
      kernel<<<static_cast<unsigned>((threads + kThreads - 1) / kThreads), kThreads, 0, stream.get()>>>(
          static_cast<const T*>(table), tokens, count, size, scale, static_cast<T*>(out));
    };
    if (is_wide<T>(size, {table, out})) {
      launch(embed_rows<T, kWide<T>>, kWide<T>);
    } else {
      launch(embed_rows<T, 1>, 1);
    }
  });
  require_launched("embed");
}

void embed_backward(Element type, const void* d, const TokenGroups& groups, std::int64_t size, float scale,
                    float* dtable, const Stream& stream) {
  if (groups.count == 0) return;
  const dim3 grid(static_cast<unsigned>(groups.count), static_cast<unsigned>((size + kThreads - 1) / kThreads));
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    embed_rows_backward<<<grid, kThreads, 0, stream.get()>>>(static_cast<const T*>(d), groups, size, scale, dtable);
  });
  require_launched("embed_backward");
}

}  // namespace rlflow::cuda
