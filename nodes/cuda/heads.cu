// Norms and rotary positions of query and key heads, forward and backward. A warp has one head of one row.
#include <algorithm>

#include "nodes/cuda/heads.h"
#include "nodes/cuda/status.h"
#include "nodes/cuda/vectors.h"

namespace rlflow::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kBackwardBlocks = 264;  // where weights have gradients: each block sums over its rows
constexpr int kMostDim = 512;

// Where a warp's head stands.
struct Place {
  std::int64_t row;
  std::int64_t head;  // queries first, then keys
  bool is_query;
};

__device__ Place place_of(const HeadShape& shape, std::int64_t index) {
  const std::int64_t all = shape.heads + shape.kv_heads, row = index / all, head = index - row * all;
  return {row, head, head < shape.heads};
}

template <class T>
__global__ void __launch_bounds__(kWarps* kWarp)
    turn(HeadShape shape, HeadRows rows, std::int64_t count, T* projections) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  const std::int64_t all = shape.heads + shape.kv_heads;
  if (index >= count * all) return;
  const Place place = place_of(shape, index);
  const std::int64_t half = shape.head_dim / 2;
  const int lane = threadIdx.x % kWarp;
  T* x = projections + place.row * shape.width + place.head * shape.head_dim;
  float scale = 1;
  const T* weight = static_cast<const T*>(place.is_query ? rows.query_weight : rows.key_weight);
  if (shape.norms) {
    float squares = 0;
    T* kept = rows.unnormed != nullptr ? static_cast<T*>(rows.unnormed) + index * shape.head_dim : nullptr;
    for (std::int64_t c = lane; c < shape.head_dim; c += kWarp) {
      const T stored = x[c];
      if (kept != nullptr) kept[c] = stored;
      squares += widened(stored) * widened(stored);
    }
    scale = 1.0f / sqrtf(warp_sum(squares) / static_cast<float>(shape.head_dim) + shape.eps);
    if (rows.scales != nullptr && lane == 0) rows.scales[index] = scale;
  }
  const std::int64_t at = rows.positions[place.row] * half;
  for (std::int64_t c = lane; c < half; c += kWarp) {
    float a = widened(x[c]), b = widened(x[c + half]);
    if (shape.norms) {
      a = a * scale * (widened(weight[c]) + shape.offset);
      b = b * scale * (widened(weight[c + half]) + shape.offset);
    }
    const float cosine = rows.cos[at + c], sine = rows.sin[at + c];
    x[c] = narrowed<T>(a * cosine - b * sine);
    x[c + half] = narrowed<T>(b * cosine + a * sine);
  }
}

// The same without norms, V adjacent pairs a thread.
template <class T, int V>
__global__ void turn_wide(HeadShape shape, HeadRows rows, std::int64_t count, float direction, T* projections) {
  const std::int64_t half = shape.head_dim / 2, vectors = half / V;
  const std::int64_t a_row = (shape.heads + shape.kv_heads) * vectors;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= count * a_row) return;
  const std::int64_t row = index / a_row, rest = index - row * a_row, head = rest / vectors;
  const std::int64_t c = (rest - head * vectors) * V;
  T* x = projections + row * shape.width + head * shape.head_dim + c;
  const std::int64_t at = rows.positions[row] * half + c;
  float a[V], b[V], low[V], high[V];
  load<T, V>(x, a);
  load<T, V>(x + half, b);
#pragma unroll
  for (int k = 0; k < V; ++k) {
    const float cosine = rows.cos[at + k], sine = rows.sin[at + k] * direction;
    low[k] = a[k] * cosine - b[k] * sine;
    high[k] = b[k] * cosine + a[k] * sine;
  }
  store<T, V>(x, low);
  store<T, V>(x + half, high);
}

// A block has the rows b, b + blocks, …; its warps the heads of a row in turn. Gradients of weights are summed by warp
// and then over warps, into partial f32[blocks, 2, head_dim].
template <class T>
__global__ void __launch_bounds__(kWarps* kWarp)
    turn_backward(HeadShape shape, HeadRows rows, std::int64_t count, T* dprojections, float* partial) {
  extern __shared__ float dweights[];  // [kWarps, 2, head_dim]
  const std::int64_t all = shape.heads + shape.kv_heads, half = shape.head_dim / 2, dim = shape.head_dim;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  float* own = dweights + warp * 2 * dim;
  for (std::int64_t c = lane; c < 2 * dim; c += kWarp) own[c] = 0;
  for (std::int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const std::int64_t at = rows.positions[row] * half;
    for (std::int64_t head = warp; head < all; head += kWarps) {
      T* d = dprojections + row * shape.width + head * dim;
      const bool is_query = head < shape.heads;
      const T* weight = static_cast<const T*>(is_query ? rows.query_weight : rows.key_weight);
      const T* x = static_cast<const T*>(rows.unnormed) + (row * all + head) * dim;
      const float scale = rows.scales[row * all + head];
      float* sums = own + (is_query ? 0 : dim);
      float along = 0;
      for (std::int64_t c = lane; c < half; c += kWarp) {
        const float low = widened(d[c]), high = widened(d[c + half]);
        const float cosine = rows.cos[at + c], sine = rows.sin[at + c];
        const float a = low * cosine + high * sine, b = high * cosine - low * sine;
        const float xa = widened(x[c]), xb = widened(x[c + half]);
        along += (widened(weight[c]) + shape.offset) * a * xa + (widened(weight[c + half]) + shape.offset) * b * xb;
        sums[c] += a * xa * scale;
        sums[c + half] += b * xb * scale;
      }
      along = warp_sum(along) * scale * scale / static_cast<float>(dim);
      for (std::int64_t c = lane; c < half; c += kWarp) {
        const float low = widened(d[c]), high = widened(d[c + half]);
        const float cosine = rows.cos[at + c], sine = rows.sin[at + c];
        const float a = low * cosine + high * sine, b = high * cosine - low * sine;
        d[c] = narrowed<T>(scale * ((widened(weight[c]) + shape.offset) * a - widened(x[c]) * along));
        d[c + half] =
            narrowed<T>(scale * ((widened(weight[c + half]) + shape.offset) * b - widened(x[c + half]) * along));
      }
    }
  }
  __syncthreads();
  for (std::int64_t c = threadIdx.x; c < 2 * dim; c += kWarps * kWarp) {
    float sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += dweights[w * 2 * dim + c];
    partial[blockIdx.x * 2 * dim + c] = sum;
  }
}

__global__ void add_head_partials(const float* partial, int parts, std::int64_t dim, float* dquery, float* dkey) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= 2 * dim) return;
  float sum = 0;
  for (int p = 0; p < parts; ++p) sum += partial[p * 2 * dim + c];
  (c < dim ? dquery[c] : dkey[c - dim]) += sum;
}

// Turns by +1 or −1 where there are no norms.
void turn_plain(const HeadShape& shape, const HeadRows& rows, std::int64_t count, float direction, void* projections,
                const Stream& stream) {
  constexpr int kThreads = 256;
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    auto launch = [&](auto kernel, int width) {
      const std::int64_t threads = count * (shape.heads + shape.kv_heads) * (shape.head_dim / 2 / width);
      kernel<<<static_cast<unsigned>((threads + kThreads - 1) / kThreads), kThreads, 0, stream.get()>>>(
          shape, rows, count, direction, static_cast<T*>(projections));
    };
    if (shape.head_dim % (2 * kWide<T>) == 0 && is_wide<T>(shape.width, {projections})) {
      launch(turn_wide<T, kWide<T>>, kWide<T>);
    } else {
      launch(turn_wide<T, 1>, 1);
    }
  });
  require_launched("turn_wide");
}

}  // namespace

void turn_heads(const HeadShape& shape, const HeadRows& rows, std::int64_t count, void* projections,
                const Stream& stream) {
  if (count == 0) return;
  if (!shape.norms) {
    return turn_plain(shape, rows, count, 1.0f, projections, stream);
  }
  const std::int64_t blocks = (count * (shape.heads + shape.kv_heads) + kWarps - 1) / kWarps;
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    turn<T><<<static_cast<unsigned>(blocks), kWarps * kWarp, 0, stream.get()>>>(shape, rows, count,
                                                                                static_cast<T*>(projections));
  });
  require_launched("turn_heads");
}

std::int64_t head_scratch(const HeadShape& shape) { return kBackwardBlocks * 2 * shape.head_dim * 4; }

void turn_heads_backward(const HeadShape& shape, const HeadRows& rows, std::int64_t count, void* dprojections,
                         float* dquery_weight, float* dkey_weight, void* scratch, const Stream& stream) {
  if (count == 0) return;
  if (!shape.norms) {
    return turn_plain(shape, rows, count, -1.0f, dprojections, stream);
  }
  if (shape.head_dim > kMostDim) throw CudaFailure("heads of more than 512 numbers are not supported");
  const int blocks = static_cast<int>(std::min<std::int64_t>(count, kBackwardBlocks));
  auto* partial = static_cast<float*>(scratch);
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    const auto shared = static_cast<std::size_t>(kWarps * 2 * shape.head_dim * 4);
    turn_backward<T><<<static_cast<unsigned>(blocks), kWarps * kWarp, shared, stream.get()>>>(
        shape, rows, count, static_cast<T*>(dprojections), partial);
  });
  require_launched("turn_heads_backward");
  add_head_partials<<<static_cast<unsigned>((2 * shape.head_dim + 127) / 128), 128, 0, stream.get()>>>(
      partial, blocks, shape.head_dim, dquery_weight, dkey_weight);
  require_launched("add_head_partials");
}

}  // namespace rlflow::cuda
