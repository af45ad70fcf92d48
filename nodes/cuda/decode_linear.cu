// Products of few rows with what stands around them, all but the output head.
#include <cooperative_groups.h>

#include <algorithm>

#include "nodes/cuda/few_rows.cuh"

namespace rlflow::cuda {
namespace {

// A sum of 16 lanes that adjoin, in one fixed order.
__device__ inline float sum_of_16(float x) {
  for (int step = 8; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

constexpr int kEmbedThreads = 256;

__global__ void embed_weighted_kernel(const StepRow* rows, const bf16* embedding, int size, float scale,
                                      const bf16* weight, float offset, float* hidden, bf16* x, float* squares) {
  const StepRow row = rows[blockIdx.x];
  const bf16* from = embedding + static_cast<std::int64_t>(row.token) * size;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * size;
  for (int i = threadIdx.x; i < size; i += kEmbedThreads) {
    const float value = row.table < 0 ? 0.0f : widened(from[i]) * scale;
    hidden[at + i] = value;
    x[at + i] = narrowed<bf16>(value * (widened(weight[i]) + offset));
    const float square = sum_of_16(value * value);
    if (i % 16 == 0) squares[(at + i) / 16] = square;
  }
}

constexpr std::size_t kMostShared = 160 << 10;
constexpr int kShares = 8;      // warps of a block, which share the depth
constexpr int kGateShares = 4;  // the same where a warp has two tiles

template <int kGroups>
__global__ void __launch_bounds__(32 * kShares)
    project_kernel(const bf16* x, const float* squares, int count, float eps, const bf16* weights, int outputs,
                   int inputs, float* y) {
  let_next_begin();
  extern __shared__ __align__(16) char memory[];
  __shared__ float scales[8 * kGroups];
  const int lane = threadIdx.x % 32, share = threadIdx.x / 32, output = blockIdx.x * 16;
  const bf16* own[1] = {weights + static_cast<std::int64_t>(output + lane / 4) * inputs + 16 * (lane % 4)};
  Multiply<1, kGroups, kShares, 2> product(own, inputs, inputs / 64, share);
  StagedRows staged{reinterpret_cast<bf16*>(memory), StagedRows::stride_of(inputs)};
  wait_for_earlier();
  staged.copy(x, count, inputs, 0, inputs);
  row_scales(squares, count, inputs, eps, scales);
  staged.wait();
  __syncthreads();
  product.run(staged, count);
  __syncthreads();
  SharedSums<16, 8 * kGroups> sums{reinterpret_cast<float*>(memory)};
  sums.put(share, 0, product.sums[0]);
  __syncthreads();
  for (int i = threadIdx.x; i < 16 * count; i += 32 * kShares) {
    const int row = i / 16;
    y[static_cast<std::int64_t>(row) * outputs + output + i % 16] = sums.get(kShares, row, i % 16) * scales[row];
  }
}

// kCluster blocks share the depth too; each adds up some of the rows.
template <int kGroups, int kCluster>
__global__ void __launch_bounds__(32 * kShares)
    add_kernel(const bf16* x, int count, const bf16* weights, const bf16* bias, int outputs, int inputs,
               const bf16* norm, float offset, float* hidden, bf16* next, float* squares) {
  let_next_begin();
  extern __shared__ __align__(16) char memory[];
  __shared__ float blocks[8 * kGroups][16];
  const int lane = threadIdx.x % 32, share = threadIdx.x / 32, output = blockIdx.x * 16, part = blockIdx.z;
  const int units = inputs / 64, first = part * units / kCluster, end = (part + 1) * units / kCluster;
  const bf16* own[1] = {weights + static_cast<std::int64_t>(output + lane / 4) * inputs + 64 * first + 16 * (lane % 4)};
  Multiply<1, kGroups, kShares, 3> product(own, inputs, end - first, share);
  StagedRows staged{reinterpret_cast<bf16*>(memory), StagedRows::stride_of(64 * (end - first))};
  wait_for_earlier();
  staged.copy(x, count, inputs, 64 * first, 64 * (end - first));
  staged.wait();
  __syncthreads();
  product.run(staged, count);
  __syncthreads();
  SharedSums<16, 8 * kGroups> sums{reinterpret_cast<float*>(memory)};
  sums.put(share, 0, product.sums[0]);
  __syncthreads();
  if constexpr (kCluster > 1) {
    for (int i = threadIdx.x; i < 16 * count; i += 32 * kShares)
      blocks[i / 16][i % 16] = sums.get(kShares, i / 16, i % 16);
    cooperative_groups::this_cluster().sync();
  }
  // Rows part, part + kCluster, …; 16 lanes each, all lanes of a warp at once.
  const int rows = (count - part + kCluster - 1) / kCluster;
  for (int i = threadIdx.x; i < (16 * rows + 31) / 32 * 32; i += 32 * kShares) {
    const int row = part + i / 16 * kCluster, column = output + i % 16;
    const std::int64_t at = static_cast<std::int64_t>(row) * outputs + column;
    float value = 0;
    if (row < count) {
      float sum = 0;
      if constexpr (kCluster > 1) {
        for (int c = 0; c < kCluster; ++c)
          sum += *cooperative_groups::this_cluster().map_shared_rank(&blocks[row][i % 16], c);
      } else {
        sum = sums.get(kShares, row, i % 16);
      }
      value = hidden[at] + sum + (bias ? widened(bias[column]) : 0.0f);
      hidden[at] = value;
      next[at] = narrowed<bf16>(value * (widened(norm[column]) + offset));
    }
    const float square = sum_of_16(value * value);
    if (i % 16 == 0 && row < count) squares[at / 16] = square;
  }
  if constexpr (kCluster > 1) cooperative_groups::this_cluster().sync();  // until no one reads this block's sums
}

template <int kGroups>
__global__ void __launch_bounds__(32 * kGateShares)
    gate_product_kernel(const bf16* x, const float* squares, int count, float eps, const bf16* weights,
                        const bf16* bias, int inner, int inputs, bool gelu, bf16* y) {
  let_next_begin();
  extern __shared__ __align__(16) char memory[];
  __shared__ float scales[8 * kGroups];
  const int lane = threadIdx.x % 32, share = threadIdx.x / 32, output = blockIdx.x * 16;
  const bf16* gate = weights + static_cast<std::int64_t>(output + lane / 4) * inputs + 16 * (lane % 4);
  const bf16* own[2] = {gate, gate + static_cast<std::int64_t>(inner) * inputs};
  Multiply<2, kGroups, kGateShares, kGroups == 1 ? 4 : 3> product(own, inputs, inputs / 64, share);
  StagedRows staged{reinterpret_cast<bf16*>(memory), StagedRows::stride_of(inputs)};
  wait_for_earlier();
  staged.copy(x, count, inputs, 0, inputs);
  row_scales(squares, count, inputs, eps, scales);
  staged.wait();
  __syncthreads();
  product.run(staged, count);
  __syncthreads();
  SharedSums<32, 8 * kGroups> sums{reinterpret_cast<float*>(memory)};
  sums.put(share, 0, product.sums[0]);
  sums.put(share, 16, product.sums[1]);
  __syncthreads();
  for (int i = threadIdx.x; i < 16 * count; i += 32 * kGateShares) {
    const int row = i / 16, column = output + i % 16;
    const float gated = sums.get(kGateShares, row, i % 16) * scales[row] + (bias ? widened(bias[column]) : 0.0f);
    const float up =
        sums.get(kGateShares, row, 16 + i % 16) * scales[row] + (bias ? widened(bias[inner + column]) : 0.0f);
    y[static_cast<std::int64_t>(row) * inner + column] = narrowed<bf16>(activated(gated, gelu) * up);
  }
}

// body(std::integral_constant groups), the fewest that hold the rows.
template <class Body>
void with_groups(int count, const Body& body) {
  if (count <= 8) return body(std::integral_constant<int, 1>{});
  if (count <= 16) return body(std::integral_constant<int, 2>{});
  static_assert(kMostFewRows == 32);
  body(std::integral_constant<int, 4>{});
}

// Of the rows, and later of the sums in their place.
template <int kOutputs, int kGroups>
std::size_t shared_bytes(int shares, int count, int depth) {
  return std::max(StagedRows::bytes(count, depth), shares * SharedSums<kOutputs, 8 * kGroups>::kFloats * sizeof(float));
}

// Blocks that share a depth, so that enough of them fill the GPU and their rows fit in shared memory.
int cluster_of(int inputs) { return inputs <= 2048 ? 1 : inputs <= 8192 ? 4 : 8; }

}  // namespace

bool few_rows_serve(const void* weights, std::int64_t rows, std::int64_t outputs, std::int64_t inputs) {
  const int depth = static_cast<int>(
      64 * ((inputs / 64 + cluster_of(static_cast<int>(inputs)) - 1) / cluster_of(static_cast<int>(inputs))));
  return StagedRows::bytes(static_cast<int>(rows), depth) <= kMostShared &&
         reinterpret_cast<std::uintptr_t>(weights) % 16 == 0 && outputs % 16 == 0 && inputs % 64 == 0;
}

void embed_weighted_rows(const Stream& stream, const StepRow* rows, int count, const void* embedding, int size,
                         float scale, const NextNorm& next, float* hidden, const Weighted& out) {
  // An ordinary launch: what the last step wrote is there for all kernels of this one.
  launch(embed_weighted_kernel, dim3(count), kEmbedThreads, 0, stream, rows, static_cast<const bf16*>(embedding), size,
         scale, static_cast<const bf16*>(next.weight), next.offset, hidden, static_cast<bf16*>(out.x), out.squares);
}

void project_few_rows(const Stream& stream, const Weighted& x, int count, float eps, const void* weights, int outputs,
                      int inputs, float* y) {
  with_groups(count, [&](auto groups) {
    const auto kernel = project_kernel<groups>;
    const std::size_t bytes = shared_bytes<16, groups>(kShares, count, inputs);
    allow_shared(kernel, bytes);
    launch_dependent(kernel, dim3(outputs / 16), 32 * kShares, bytes, stream, static_cast<const bf16*>(x.x), x.squares,
                     count, eps, static_cast<const bf16*>(weights), outputs, inputs, y);
  });
}

void add_few_rows(const Stream& stream, const void* x, int count, const void* weights, const void* bias, int outputs,
                  int inputs, const NextNorm& next, float* hidden, const Weighted& out) {
  with_groups(count, [&](auto groups) {
    const auto go = [&](auto cluster) {
      const auto kernel = add_kernel<groups, cluster>;
      const int units = inputs / 64, depth = 64 * ((units + cluster - 1) / cluster);
      const std::size_t bytes = shared_bytes<16, groups>(kShares, count, depth);
      allow_shared(kernel, bytes);
      launch_dependent_clusters(cluster, kernel, dim3(outputs / 16, 1, cluster), 32 * kShares, bytes, stream,
                                static_cast<const bf16*>(x), count, static_cast<const bf16*>(weights),
                                static_cast<const bf16*>(bias), outputs, inputs, static_cast<const bf16*>(next.weight),
                                next.offset, hidden, static_cast<bf16*>(out.x), out.squares);
    };
    switch (cluster_of(inputs)) {
      case 1: return go(std::integral_constant<int, 1>{});
      case 4: return go(std::integral_constant<int, 4>{});
      default: return go(std::integral_constant<int, 8>{});
    }
  });
}

void gate_few_rows(const Stream& stream, const Weighted& x, int count, float eps, const void* weights, const void* bias,
                   int inner, int inputs, Gate gate, void* y) {
  with_groups(count, [&](auto groups) {
    const auto kernel = gate_product_kernel<groups>;
    const std::size_t bytes = shared_bytes<32, groups>(kGateShares, count, inputs);
    allow_shared(kernel, bytes);
    launch_dependent(kernel, dim3(inner / 16), 32 * kGateShares, bytes, stream, static_cast<const bf16*>(x.x),
                     x.squares, count, eps, static_cast<const bf16*>(weights), static_cast<const bf16*>(bias), inner,
                     inputs, gate == Gate::gelu_tanh, static_cast<bf16*>(y));
  });
}

}  // namespace rlflow::cuda
