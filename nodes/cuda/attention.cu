// Which attention kernels compute a shape, and what the backward passes share.
#include "nodes/cuda/attention.h"
#include "nodes/cuda/attention_plain.h"
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

}  // namespace

TileRows tile_rows(const AttentionShape&) { return kPlainTileRows; }

void attention(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections, void* out,
               float* log_sums, const Stream& stream) {
  attention_plain(shape, tiles, projections, out, log_sums, stream);
}

void attention_backward(const AttentionShape& shape, const AttentionTiles& tiles, std::int64_t rows,
                        const void* projections, const void* out, const float* log_sums, const void* dout,
                        void* dprojections, float* deltas, const Stream& stream) {
  if (rows == 0) return;
  const std::int64_t count = rows * shape.heads;
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    sum_deltas<T><<<static_cast<unsigned>((count + kWarps - 1) / kWarps), kWarps * kWarp, 0, stream.get()>>>(
        static_cast<const T*>(out), static_cast<const T*>(dout), count, shape.head_dim, deltas);
  });
  require_launched("sum_deltas");
  attention_plain_backward(shape, tiles, projections, log_sums, dout, dprojections, deltas, stream);
}

}  // namespace rlflow::cuda
