// Which attention kernels compute a shape, and what the backward passes share.
#include "nodes/cuda/attention.h"
#include "nodes/cuda/attention_plain.h"
#include "nodes/cuda/attention_tensor.h"
#include "nodes/cuda/status.h"
#include "nodes/cuda/vectors.h"

namespace rlflow::cuda {
namespace {

constexpr int kWarps = 8;

// deltas[row, head] = Σ dout⊙out over the head. A warp has one head of one row.
template <class T>
__global__ void __launch_bounds__(kWarps* kWarp)
    sum_deltas(const T* out, const T* dout, std::int64_t count, std::int64_t dim, float* deltas) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (index >= count) return;
  float sum = 0;
  for (std::int64_t c = threadIdx.x % kWarp; c < dim; c += kWarp) {
    sum += widened(out[index * dim + c]) * widened(dout[index * dim + c]);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) deltas[index] = sum;
}

// The same for heads of kLanes vectors of 16 bytes, a lane each: several heads a warp.
template <class T, int kLanes>
__global__ void __launch_bounds__(kWarps* kWarp)
    sum_wide_deltas(const T* out, const T* dout, std::int64_t count, float* deltas) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * (kWarps * kWarp) + threadIdx.x;
  const std::int64_t index = thread / kLanes;
  float sum = 0;
  if (index < count) {
    float a[kWide<T>], b[kWide<T>];
    load<T, kWide<T>>(out + thread * kWide<T>, a);
    load<T, kWide<T>>(dout + thread * kWide<T>, b);
#pragma unroll
    for (int k = 0; k < kWide<T>; ++k) sum += a[k] * b[k];
  }
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (index < count && thread % kLanes == 0) deltas[index] = sum;
}

template <class T, int kLanes>
void launch_wide_deltas(const T* out, const T* dout, std::int64_t count, float* deltas, const Stream& stream) {
  constexpr int kHeads = kWarps * kWarp / kLanes;
  sum_wide_deltas<T, kLanes><<<static_cast<unsigned>((count + kHeads - 1) / kHeads), kWarps * kWarp, 0, stream.get()>>>(
      out, dout, count, deltas);
}

template <class T>
void launch_deltas(const T* out, const T* dout, std::int64_t count, std::int64_t dim, float* deltas,
                   const Stream& stream) {
  const bool wide = is_wide<T>(dim, {out, dout});
  if (wide && dim / kWide<T> == 8) return launch_wide_deltas<T, 8>(out, dout, count, deltas, stream);
  if (wide && dim / kWide<T> == 16) return launch_wide_deltas<T, 16>(out, dout, count, deltas, stream);
  sum_deltas<T><<<static_cast<unsigned>((count + kWarps - 1) / kWarps), kWarps * kWarp, 0, stream.get()>>>(
      out, dout, count, dim, deltas);
}

}  // namespace

TileRows tile_rows(const AttentionShape& shape) {
  return on_tensor_cores(shape) ? tensor_tile_rows(shape) : kPlainTileRows;
}

void attention(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections, void* out,
               float* log_sums, const Stream& stream) {
  if (on_tensor_cores(shape)) return attention_tensor(shape, tiles, projections, out, log_sums, stream);
  attention_plain(shape, tiles, projections, out, log_sums, stream);
}

std::int64_t attention_scratch(const AttentionShape& shape, const AttentionTiles& tiles, std::int64_t rows) {
  return on_tensor_cores(shape) ? tensor_scratch(shape, tiles, rows) : 0;
}

void attention_backward(const AttentionShape& shape, const AttentionTiles& tiles, std::int64_t rows,
                        const void* projections, const void* out, const float* log_sums, const void* dout,
                        void* dprojections, float* deltas, void* partials, const Stream& stream) {
  if (rows == 0) return;
  const std::int64_t count = rows * shape.heads;
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    launch_deltas(static_cast<const T*>(out), static_cast<const T*>(dout), count, shape.head_dim, deltas, stream);
  });
  require_launched("sum_deltas");
  if (on_tensor_cores(shape)) {
    return attention_tensor_backward(shape, tiles, rows, projections, log_sums, dout, dprojections, deltas,
                                     static_cast<float*>(partials), stream);
  }
  attention_plain_backward(shape, tiles, projections, log_sums, dout, dprojections, deltas, stream);
}

}  // namespace rlflow::cuda
