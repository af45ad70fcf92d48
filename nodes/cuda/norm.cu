// RMS norms of rows, forward and backward, and sums of columns.
#include <algorithm>

#include "nodes/cuda/norm.h"
#include "nodes/cuda/status.h"
#include "nodes/cuda/vectors.h"

namespace rlflow::cuda {
namespace {

constexpr int kRowWarps = 8;           // rows of a block in the forward pass, one a warp
constexpr int kBackwardBlocks = 1056;  // 8 a multiprocessor; each sums the weights' gradient over its rows
constexpr int kColumnParts = 256;      // of the rows, in add_column_sums

template <class T, int V>
__global__ void __launch_bounds__(kRowWarps* kWarp)
    norm_rows(NormShape shape, const T* x, const T* weight, std::int64_t count, const std::int32_t* rows,
              const T* added, T* y, float* scales) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kWarp;
  if (i >= count) return;
  const int lane = threadIdx.x % kWarp;
  const T* row = x + (rows != nullptr ? rows[i] : i) * shape.size;
  float squares = 0;
  for (std::int64_t c = lane * V; c < shape.size; c += kWarp * V) {
    float v[V];
    load<T, V>(row + c, v);
#pragma unroll
    for (int k = 0; k < V; ++k) squares += v[k] * v[k];
  }
  const float scale = 1.0f / sqrtf(warp_sum(squares) / static_cast<float>(shape.size) + shape.eps);
  if (scales != nullptr && lane == 0) scales[i] = scale;
  for (std::int64_t c = lane * V; c < shape.size; c += kWarp * V) {
    float v[V], w[V];
    load<T, V>(row + c, v);
    load<T, V>(weight + c, w);
#pragma unroll
    for (int k = 0; k < V; ++k) v[k] = v[k] * scale * (w[k] + shape.offset);
    if (added != nullptr) {
      float a[V];
      load<T, V>(added + i * shape.size + c, a);
#pragma unroll
      for (int k = 0; k < V; ++k) v[k] += a[k];
    }
    store<T, V>(y + i * shape.size + c, v);
  }
}

// Thread t has the vectors t, t + threads, … of every row, N at most; block b the rows b, b + blocks, ….
// With g = (weight + offset)⊙dy: dx = s·(g − x·s²·(g·x)/size).
template <class T, int V, int N>
__global__ void norm_rows_backward(NormShape shape, const T* x, const T* weight, const float* scales, const T* dy,
                                   std::int64_t count, const std::int32_t* rows, T* dx, bool add, float* partial) {
  __shared__ float shared[2][kWarp];
  float w[N][V], dweight[N][V] = {};
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const std::int64_t c = (threadIdx.x + static_cast<std::int64_t>(n) * blockDim.x) * V;
    if (c < shape.size) load<T, V>(weight + c, w[n]);
  }
  int turn = 0;
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x, turn ^= 1) {
    const std::int64_t at = (rows != nullptr ? rows[i] : i) * shape.size;
    float v[N][V] = {}, d[N][V] = {}, along = 0;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const std::int64_t c = (threadIdx.x + static_cast<std::int64_t>(n) * blockDim.x) * V;
      if (c >= shape.size) continue;
      load<T, V>(x + at + c, v[n]);
      load<T, V>(dy + i * shape.size + c, d[n]);
#pragma unroll
      for (int k = 0; k < V; ++k) along += (w[n][k] + shape.offset) * d[n][k] * v[n][k];
    }
    const float scale = scales[i];
    along = block_sum(along, shared[turn]) * scale * scale / static_cast<float>(shape.size);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const std::int64_t c = (threadIdx.x + static_cast<std::int64_t>(n) * blockDim.x) * V;
      if (c >= shape.size) continue;
      float out[V] = {};
      if (add) load<T, V>(dx + at + c, out);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        out[k] += scale * ((w[n][k] + shape.offset) * d[n][k] - v[n][k] * along);
        dweight[n][k] += d[n][k] * v[n][k] * scale;
      }
      store<T, V>(dx + at + c, out);
    }
  }
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const std::int64_t c = (threadIdx.x + static_cast<std::int64_t>(n) * blockDim.x) * V;
    if (c >= shape.size) continue;
#pragma unroll
    for (int k = 0; k < V; ++k) partial[blockIdx.x * shape.size + c + k] = dweight[n][k];
  }
}

// sum[c] += Σ_p partial[p, c], p ascending in 32 strands.
__global__ void __launch_bounds__(kWarp* kWarp)
    add_partials(const float* partial, int parts, std::int64_t size, float* sum) {
  __shared__ float strands[kWarp][kWarp];
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  float total = 0;
  if (c < size) {
#pragma unroll 8
    for (int p = threadIdx.y; p < parts; p += kWarp) total += partial[p * size + c];
  }
  strands[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y != 0 || c >= size) return;
#pragma unroll
  for (int s = 1; s < kWarp; ++s) total += strands[s][threadIdx.x];
  sum[c] += total;
}

void reduce(const float* partial, int parts, std::int64_t size, float* sum, const Stream& stream) {
  add_partials<<<static_cast<unsigned>((size + kWarp - 1) / kWarp), dim3(kWarp, kWarp), 0, stream.get()>>>(
      partial, parts, size, sum);
  require_launched("add_partials");
}

// Part p has the rows p·rows_a_part and following; a thread has V columns.
template <class T, int V>
__global__ void column_sums(const T* x, const float* factors, std::int64_t count, std::int64_t size,
                            std::int64_t rows_a_part, float* partial) {
  const std::int64_t c = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * V;
  if (c >= size) return;
  const std::int64_t begin = blockIdx.y * rows_a_part, end = min(count, begin + rows_a_part);
  float sum[V] = {};
#pragma unroll 4
  for (std::int64_t i = begin; i < end; ++i) {
    float v[V];
    load<T, V>(x + i * size + c, v);
    const float factor = factors != nullptr ? factors[i] : 1.0f;
#pragma unroll
    for (int k = 0; k < V; ++k) sum[k] += factor * v[k];
  }
#pragma unroll
  for (int k = 0; k < V; ++k) partial[blockIdx.y * size + c + k] = sum[k];
}

template <class T, int V, int N>
void launch_backward(const NormShape& shape, const void* x, const void* weight, const float* scales, const void* dy,
                     std::int64_t count, const std::int32_t* rows, void* dx, bool add, float* partial, int blocks,
                     const Stream& stream) {
  const std::int64_t vectors = (shape.size + V - 1) / V;
  const auto threads = static_cast<unsigned>(((vectors + N - 1) / N + kWarp - 1) / kWarp * kWarp);
  if (threads > 1024) throw CudaFailure("a norm over " + std::to_string(shape.size) + " numbers is too wide");
  norm_rows_backward<T, V, N><<<static_cast<unsigned>(blocks), threads, 0, stream.get()>>>(
      shape, static_cast<const T*>(x), static_cast<const T*>(weight), scales, static_cast<const T*>(dy), count, rows,
      static_cast<T*>(dx), add, partial);
}

}  // namespace

void rms_norm(const NormShape& shape, const void* x, const void* weight, std::int64_t count, const std::int32_t* rows,
              const void* added, void* y, float* scales, const Stream& stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + kRowWarps - 1) / kRowWarps);
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    auto launch = [&](auto kernel) {
      kernel<<<blocks, kRowWarps * kWarp, 0, stream.get()>>>(shape, static_cast<const T*>(x),
                                                             static_cast<const T*>(weight), count, rows,
                                                             static_cast<const T*>(added), static_cast<T*>(y), scales);
    };
    if (is_wide<T>(shape.size, {x, weight, added, y})) {
      launch(norm_rows<T, kWide<T>>);
    } else {
      launch(norm_rows<T, 1>);
    }
  });
  require_launched("rms_norm");
}

std::int64_t norm_scratch(std::int64_t size) { return kBackwardBlocks * size * 4; }

void rms_norm_backward(const NormShape& shape, const void* x, const void* weight, const float* scales, const void* dy,
                       std::int64_t count, const std::int32_t* rows, void* dx, bool add, float* dweight, void* scratch,
                       const Stream& stream) {
  if (count == 0) return;
  auto* partial = static_cast<float*>(scratch);
  const int blocks = static_cast<int>(std::min<std::int64_t>(count, kBackwardBlocks));
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    if (!is_wide<T>(shape.size, {x, weight, dy, dx})) {
      launch_backward<T, 1, 4>(shape, x, weight, scales, dy, count, rows, dx, add, partial, blocks, stream);
    } else if (shape.size <= kWide<T> * 256) {
      launch_backward<T, kWide<T>, 1>(shape, x, weight, scales, dy, count, rows, dx, add, partial, blocks, stream);
    } else {
      launch_backward<T, kWide<T>, 2>(shape, x, weight, scales, dy, count, rows, dx, add, partial, blocks, stream);
    }
  });
  require_launched("rms_norm_backward");
  reduce(partial, blocks, shape.size, dweight, stream);
}

std::int64_t column_scratch(std::int64_t size) { return kColumnParts * size * 4; }

void add_column_sums(Element type, const void* x, const float* factors, std::int64_t count, std::int64_t size,
                     float* sum, void* scratch, const Stream& stream) {
  if (count == 0) return;
  auto* partial = static_cast<float*>(scratch);
  const std::int64_t rows_a_part = (count + kColumnParts - 1) / kColumnParts;
  const auto parts = static_cast<unsigned>((count + rows_a_part - 1) / rows_a_part);
  constexpr int kThreads = 64;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    auto launch = [&](auto kernel, int width) {
      const dim3 grid(static_cast<unsigned>((size + kThreads * width - 1) / (kThreads * width)), parts);
      kernel<<<grid, kThreads, 0, stream.get()>>>(static_cast<const T*>(x), factors, count, size, rows_a_part, partial);
    };
    if (is_wide<T>(size, {x})) {
      launch(column_sums<T, kWide<T>>, kWide<T>);
    } else {
      launch(column_sums<T, 1>, 1);
    }
  });
  require_launched("column_sums");
  reduce(partial, static_cast<int>(parts), size, sum, stream);
}

}  // namespace rlflow::cuda
