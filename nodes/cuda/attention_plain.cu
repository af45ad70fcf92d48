// Attention without tensor cores. A block has a tile of 32 rows of one head; eight threads have one of its rows.
#include "nodes/cuda/attention_plain.h"
#include "nodes/cuda/status.h"
#include "nodes/cuda/vectors.h"

namespace rlflow::cuda {
namespace {

constexpr int kTile = 32;
constexpr int kStrands = 8;  // threads of a row
constexpr int kThreads = kTile * kStrands;
constexpr int kMostDim = 256;
constexpr int kColumns = kMostDim / kStrands;  // of a row, that a thread has at most

__device__ float strand_sum(float x) {
#pragma unroll
  for (int offset = kStrands / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffffu, x, offset);
  return x;
}
__device__ float strand_max(float x) {
#pragma unroll
  for (int offset = kStrands / 2; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, offset));
  return x;
}

// Copies `count` rows of one head to to[kTile][dim + 1]; the rest is 0.
template <class T>
__device__ void fetch(const T* rows, std::int64_t stride, int count, int dim, float* to) {
  for (int i = threadIdx.x; i < kTile * dim; i += kThreads) {
    const int r = i / dim, c = i - r * dim;
    to[r * (dim + 1) + c] = r < count ? widened(rows[r * stride + c]) : 0.0f;
  }
}

__device__ float dot(const float* a, const float* b, int dim) {
  float sum = 0;
  for (int c = 0; c < dim; ++c) sum += a[c] * b[c];
  return sum;
}

__device__ bool visible(int query, int key, std::int64_t window) {
  return key <= query && (window == 0 || key + window > query);
}

// Does any query of a tile see any key of another? Positions of the first and last of both.
__device__ bool meet(int first_query, int last_query, int first_key, int last_key, std::int64_t window) {
  return first_key <= last_query && (window == 0 || last_key + window > first_query);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    forward(AttentionShape shape, AttentionTiles tiles, const T* projections, T* out, float* log_sums) {
  extern __shared__ float shared[];
  const int dim = static_cast<int>(shape.head_dim), size = kTile * (dim + 1);
  float *q = shared, *k = q + size, *v = k + size, *p = v + size;  // p [kTile][kTile + 1]
  const RowTile tile = tiles.queries[blockIdx.x];
  const std::int64_t head = blockIdx.y, kv_head = head / (shape.heads / shape.kv_heads);
  const std::int64_t key = (shape.heads + kv_head) * dim, value = key + shape.kv_heads * dim;
  const int r = threadIdx.x / kStrands, strand = threadIdx.x % kStrands;
  const int position = tile.rows.position + r;
  fetch(projections + tile.rows.begin * shape.width + head * dim, shape.width, tile.rows.length, dim, q);
  float top = -INFINITY, mass = 0, o[kColumns] = {};
  for (int s = tile.first_span; s < tile.last_span; ++s) {
    const RowSpan span = tiles.spans[s];
    for (int begin = 0; begin < span.length; begin += kTile) {
      const int count = min(kTile, span.length - begin), first = span.position + begin;
      if (!meet(tile.rows.position, tile.rows.position + tile.rows.length - 1, first, first + count - 1, shape.window))
        continue;
      __syncthreads();
      const T* rows = projections + (span.begin + begin) * shape.width;
      fetch(rows + key, shape.width, count, dim, k);
      fetch(rows + value, shape.width, count, dim, v);
      __syncthreads();
      float scores[kTile / kStrands], largest = top;
#pragma unroll
      for (int i = 0; i < kTile / kStrands; ++i) {
        const int j = strand + i * kStrands;
        const bool seen = j < count && visible(position, first + j, shape.window);
        scores[i] = seen ? dot(q + r * (dim + 1), k + j * (dim + 1), dim) * shape.scale : -INFINITY;
        largest = fmaxf(largest, scores[i]);
      }
      largest = strand_max(largest);
      const float fade = largest == -INFINITY ? 1.0f : expf(top - largest);
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kTile / kStrands; ++i) {
        const float e = scores[i] == -INFINITY ? 0.0f : expf(scores[i] - largest);
        p[r * (kTile + 1) + strand + i * kStrands] = e;
        sum += e;
      }
      mass = mass * fade + strand_sum(sum);
      top = largest;
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        const int c = strand + i * kStrands;
        if (c >= dim) break;
        float add = 0;
        for (int j = 0; j < count; ++j) add += p[r * (kTile + 1) + j] * v[j * (dim + 1) + c];
        o[i] = o[i] * fade + add;
      }
    }
  }
  if (r >= tile.rows.length) return;
  const std::int64_t row = tile.rows.begin + r;
  if (strand == 0) log_sums[row * shape.heads + head] = top + logf(mass);
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    const int c = strand + i * kStrands;
    if (c >= dim) break;
    out[(row * shape.heads + head) * dim + c] = narrowed<T>(o[i] / mass);
  }
}

// ds = p·(dp − delta)·scale of one pair, where p = e^(score − log_sum) and dp = dout·v.
struct Pair {
  float p, ds;
};
__device__ Pair pair_of(const AttentionShape& shape, const float* q, const float* k, const float* v, const float* dout,
                        int dim, float log_sum, float delta) {
  const float p = expf(dot(q, k, dim) * shape.scale - log_sum);
  return {p, p * (dot(dout, v, dim) - delta) * shape.scale};
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    backward_queries(AttentionShape shape, AttentionTiles tiles, const T* projections, const float* log_sums,
                     const T* dout, const float* deltas, T* dprojections) {
  extern __shared__ float shared[];
  const int dim = static_cast<int>(shape.head_dim), size = kTile * (dim + 1);
  float *q = shared, *k = q + size, *v = k + size, *d = v + size, *ds = d + size;
  const RowTile tile = tiles.queries[blockIdx.x];
  const std::int64_t head = blockIdx.y, kv_head = head / (shape.heads / shape.kv_heads);
  const std::int64_t key = (shape.heads + kv_head) * dim, value = key + shape.kv_heads * dim;
  const int r = threadIdx.x / kStrands, strand = threadIdx.x % kStrands;
  const int position = tile.rows.position + r;
  const std::int64_t row = tile.rows.begin + r;
  fetch(projections + tile.rows.begin * shape.width + head * dim, shape.width, tile.rows.length, dim, q);
  fetch(dout + (tile.rows.begin * shape.heads + head) * dim, shape.heads * dim, tile.rows.length, dim, d);
  const bool mine = r < tile.rows.length;
  const float log_sum = mine ? log_sums[row * shape.heads + head] : 0,
              delta = mine ? deltas[row * shape.heads + head] : 0;
  float dq[kColumns] = {};
  for (int s = tile.first_span; s < tile.last_span; ++s) {
    const RowSpan span = tiles.spans[s];
    for (int begin = 0; begin < span.length; begin += kTile) {
      const int count = min(kTile, span.length - begin), first = span.position + begin;
      if (!meet(tile.rows.position, tile.rows.position + tile.rows.length - 1, first, first + count - 1, shape.window))
        continue;
      __syncthreads();
      const T* rows = projections + (span.begin + begin) * shape.width;
      fetch(rows + key, shape.width, count, dim, k);
      fetch(rows + value, shape.width, count, dim, v);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kTile / kStrands; ++i) {
        const int j = strand + i * kStrands;
        const bool seen = mine && j < count && visible(position, first + j, shape.window);
        ds[r * (kTile + 1) + j] = seen ? pair_of(shape, q + r * (dim + 1), k + j * (dim + 1), v + j * (dim + 1),
                                                 d + r * (dim + 1), dim, log_sum, delta)
                                             .ds
                                       : 0.0f;
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        const int c = strand + i * kStrands;
        if (c >= dim) break;
        for (int j = 0; j < count; ++j) dq[i] += ds[r * (kTile + 1) + j] * k[j * (dim + 1) + c];
      }
    }
  }
  if (!mine) return;
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    const int c = strand + i * kStrands;
    if (c >= dim) break;
    dprojections[row * shape.width + head * dim + c] = narrowed<T>(dq[i]);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    backward_keys(AttentionShape shape, AttentionTiles tiles, const T* projections, const float* log_sums,
                  const T* dout, const float* deltas, T* dprojections) {
  extern __shared__ float shared[];
  const int dim = static_cast<int>(shape.head_dim), size = kTile * (dim + 1);
  float *k = shared, *v = k + size, *q = v + size, *d = q + size, *p = d + size, *ds = p + kTile * (kTile + 1);
  float *log_sum = ds + kTile * (kTile + 1), *delta = log_sum + kTile;
  const RowTile tile = tiles.keys[blockIdx.x];
  const std::int64_t kv_head = blockIdx.y, repeats = shape.heads / shape.kv_heads;
  const std::int64_t key = (shape.heads + kv_head) * dim, value = key + shape.kv_heads * dim;
  const int r = threadIdx.x / kStrands, strand = threadIdx.x % kStrands;
  const int position = tile.rows.position + r;
  const T* rows = projections + tile.rows.begin * shape.width;
  fetch(rows + key, shape.width, tile.rows.length, dim, k);
  fetch(rows + value, shape.width, tile.rows.length, dim, v);
  float dk[kColumns] = {}, dv[kColumns] = {};
  for (int s = tile.first_span; s < tile.last_span; ++s) {
    const RowSpan span = tiles.spans[s];
    for (int begin = 0; begin < span.length; begin += kTile) {
      const int count = min(kTile, span.length - begin), first = span.position + begin;
      if (!meet(first, first + count - 1, tile.rows.position, tile.rows.position + tile.rows.length - 1, shape.window))
        continue;
      for (std::int64_t head = kv_head * repeats; head < (kv_head + 1) * repeats; ++head) {
        __syncthreads();
        const std::int64_t row = span.begin + begin;
        fetch(projections + row * shape.width + head * dim, shape.width, count, dim, q);
        fetch(dout + (row * shape.heads + head) * dim, shape.heads * dim, count, dim, d);
        if (threadIdx.x < kTile) {
          const bool there = static_cast<int>(threadIdx.x) < count;
          log_sum[threadIdx.x] = there ? log_sums[(row + threadIdx.x) * shape.heads + head] : 0;
          delta[threadIdx.x] = there ? deltas[(row + threadIdx.x) * shape.heads + head] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kTile / kStrands; ++i) {
          const int j = strand + i * kStrands;
          const bool seen = r < tile.rows.length && j < count && visible(first + j, position, shape.window);
          Pair pair{0, 0};
          if (seen) {
            pair = pair_of(shape, q + j * (dim + 1), k + r * (dim + 1), v + r * (dim + 1), d + j * (dim + 1), dim,
                           log_sum[j], delta[j]);
          }
          p[r * (kTile + 1) + j] = pair.p;
          ds[r * (kTile + 1) + j] = pair.ds;
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < kColumns; ++i) {
          const int c = strand + i * kStrands;
          if (c >= dim) break;
          for (int j = 0; j < count; ++j) {
            dv[i] += p[r * (kTile + 1) + j] * d[j * (dim + 1) + c];
            dk[i] += ds[r * (kTile + 1) + j] * q[j * (dim + 1) + c];
          }
        }
      }
    }
  }
  if (r >= tile.rows.length) return;
  T* to = dprojections + (tile.rows.begin + r) * shape.width;
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    const int c = strand + i * kStrands;
    if (c >= dim) break;
    to[key + c] = narrowed<T>(dk[i]);
    to[value + c] = narrowed<T>(dv[i]);
  }
}

// Bytes of `matrices` tiles of head_dim columns and `squares` tiles of scores.
std::size_t shared_bytes(const AttentionShape& shape, int matrices, int squares) {
  return static_cast<std::size_t>(
      4 * (matrices * kTile * (shape.head_dim + 1) + squares * kTile * (kTile + 1) + 2 * kTile));
}

template <class Kernel>
void allow_shared(Kernel kernel, std::size_t bytes) {
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "cudaFuncSetAttribute");
}

void check_dim(const AttentionShape& shape) {
  if (shape.head_dim > kMostDim) throw CudaFailure("heads of more than 256 numbers are not supported on the GPU");
}

}  // namespace

void attention_plain(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections, void* out,
                     float* log_sums, const Stream& stream) {
  check_dim(shape);
  if (tiles.query_count == 0) return;
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    const std::size_t bytes = shared_bytes(shape, 3, 1);
    allow_shared(forward<T>, bytes);
    const dim3 grid(static_cast<unsigned>(tiles.query_count), static_cast<unsigned>(shape.heads));
    forward<T><<<grid, kThreads, bytes, stream.get()>>>(shape, tiles, static_cast<const T*>(projections),
                                                        static_cast<T*>(out), log_sums);
  });
  require_launched("attention_plain");
}

void attention_plain_backward(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections,
                              const float* log_sums, const void* dout, void* dprojections, const float* deltas,
                              const Stream& stream) {
  check_dim(shape);
  if (tiles.query_count == 0) return;
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    const std::size_t of_queries = shared_bytes(shape, 4, 1), of_keys = shared_bytes(shape, 4, 2);
    allow_shared(backward_queries<T>, of_queries);
    allow_shared(backward_keys<T>, of_keys);
    const dim3 queries(static_cast<unsigned>(tiles.query_count), static_cast<unsigned>(shape.heads));
    backward_queries<T><<<queries, kThreads, of_queries, stream.get()>>>(
        shape, tiles, static_cast<const T*>(projections), log_sums, static_cast<const T*>(dout), deltas,
        static_cast<T*>(dprojections));
    require_launched("attention_plain_backward, queries");
    const dim3 keys(static_cast<unsigned>(tiles.key_count), static_cast<unsigned>(shape.kv_heads));
    backward_keys<T><<<keys, kThreads, of_keys, stream.get()>>>(shape, tiles, static_cast<const T*>(projections),
                                                                log_sums, static_cast<const T*>(dout), deltas,
                                                                static_cast<T*>(dprojections));
    require_launched("attention_plain_backward, keys");
  });
}

}  // namespace rlflow::cuda
