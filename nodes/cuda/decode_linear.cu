// Products of few rows with what stands around them, all but the output head.
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
    const float value = row.table < 0 ? 0.0f : to_float(from[i]) * scale;
    hidden[at + i] = value;
    x[at + i] = from_float<bf16>(value * (to_float(weight[i]) + offset));
    const float square = sum_of_16(value * value);
    if (i % 16 == 0) squares[(at + i) / 16] = square;
  }
}

template <int kGroups, int kShares>
__global__ void __launch_bounds__(32 * kShares) project_kernel(const bf16* x, const float* squares, int count, float eps,
                                                               const bf16* weights, int outputs, int inputs, float* y) {
  let_next_begin();
  extern __shared__ float memory[];
  __shared__ float scales[8 * kGroups];
  const int lane = threadIdx.x % 32, share = threadIdx.x / 32, output = blockIdx.x * 16;
  const bf16* own[1] = {weights + static_cast<std::int64_t>(output + lane / 4) * inputs + 16 * (lane % 4)};
  Multiply<1, kGroups> product(own, inputs, share, kShares);
  wait_for_earlier();
  const bf16* rows[kGroups];
  lane_rows<kGroups>(x, 0, count, inputs, rows);
  product.run(rows);
  SharedSums<16, 8 * kGroups> sums{memory};
  sums.put(share, 0, product.sums[0]);
  row_scales<kGroups>(squares, 0, count, inputs, eps, scales);
  __syncthreads();
  for (int i = threadIdx.x; i < 16 * 8 * kGroups; i += 32 * kShares) {
    const int row = i / 16;
    if (row < count) y[static_cast<std::int64_t>(row) * outputs + output + i % 16] = sums.get(kShares, row, i % 16) * scales[row];
  }
}

template <int kGroups, int kShares>
__global__ void __launch_bounds__(32 * kShares) add_kernel(const bf16* x, int count, const bf16* weights,
                                                           const bf16* bias, int outputs, int inputs,
                                                           const bf16* norm, float offset, float* hidden, bf16* next,
                                                           float* squares) {
  let_next_begin();
  extern __shared__ float memory[];
  const int lane = threadIdx.x % 32, share = threadIdx.x / 32, output = blockIdx.x * 16;
  const bf16* own[1] = {weights + static_cast<std::int64_t>(output + lane / 4) * inputs + 16 * (lane % 4)};
  Multiply<1, kGroups> product(own, inputs, share, kShares);
  wait_for_earlier();
  const bf16* rows[kGroups];
  lane_rows<kGroups>(x, 0, count, inputs, rows);
  product.run(rows);
  SharedSums<16, 8 * kGroups> sums{memory};
  sums.put(share, 0, product.sums[0]);
  __syncthreads();
  for (int i = threadIdx.x; i < 16 * 8 * kGroups; i += 32 * kShares) {
    const int row = i / 16, column = output + i % 16;
    const std::int64_t at = static_cast<std::int64_t>(row) * outputs + column;
    float value = 0;
    if (row < count) {
      value = hidden[at] + sums.get(kShares, row, i % 16) + (bias ? to_float(bias[column]) : 0.0f);
      hidden[at] = value;
      next[at] = from_float<bf16>(value * (to_float(norm[column]) + offset));
    }
    const float square = sum_of_16(value * value);
    if (i % 16 == 0 && row < count) squares[at / 16] = square;
  }
}

template <int kGroups, int kShares>
__global__ void __launch_bounds__(32 * kShares) gate_product_kernel(const bf16* x, const float* squares, int count,
                                                                    float eps, const bf16* weights, const bf16* bias,
                                                                    int inner, int inputs, bool gelu, bf16* y) {
  let_next_begin();
  extern __shared__ float memory[];
  __shared__ float scales[8 * kGroups];
  const int lane = threadIdx.x % 32, share = threadIdx.x / 32, output = blockIdx.x * 16;
  const bf16* gate = weights + static_cast<std::int64_t>(output + lane / 4) * inputs + 16 * (lane % 4);
  const bf16* own[2] = {gate, gate + static_cast<std::int64_t>(inner) * inputs};
  Multiply<2, kGroups> product(own, inputs, share, kShares);
  wait_for_earlier();
  const bf16* rows[kGroups];
  lane_rows<kGroups>(x, 0, count, inputs, rows);
  product.run(rows);
  SharedSums<32, 8 * kGroups> sums{memory};
  sums.put(share, 0, product.sums[0]);
  sums.put(share, 16, product.sums[1]);
  row_scales<kGroups>(squares, 0, count, inputs, eps, scales);
  __syncthreads();
  for (int i = threadIdx.x; i < 16 * 8 * kGroups; i += 32 * kShares) {
    const int row = i / 16, column = output + i % 16;
    if (row >= count) continue;
    const float gated = sums.get(kShares, row, i % 16) * scales[row] + (bias ? to_float(bias[column]) : 0.0f);
    const float up = sums.get(kShares, row, 16 + i % 16) * scales[row] + (bias ? to_float(bias[inner + column]) : 0.0f);
    y[static_cast<std::int64_t>(row) * inner + column] = from_float<bf16>(activated(gated, gelu) * up);
  }
}

constexpr int kShortShares = 8, kLongShares = 16;
constexpr int kLongInputs = 2048;  // from here on the depth has more shares

// body(std::integral_constant groups), the fewest that hold the rows.
template <class Body>
void with_groups(int count, const Body& body) {
  if (count <= 8) return body(std::integral_constant<int, 1>{});
  if (count <= 16) return body(std::integral_constant<int, 2>{});
  if (count <= 32) return body(std::integral_constant<int, 4>{});
  body(std::integral_constant<int, 8>{});
}

template <class Kernel>
void allow_shared(Kernel kernel, std::size_t bytes) {
  if (bytes <= 48 << 10) return;
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "cudaFuncSetAttribute");
}

template <int kOutputs, int kGroups>
constexpr std::size_t sum_bytes(int shares) {
  return static_cast<std::size_t>(shares) * SharedSums<kOutputs, 8 * kGroups>::kFloats * sizeof(float);
}

}  // namespace

bool few_rows_serve(const void* weights, std::int64_t outputs, std::int64_t inputs) {
  return reinterpret_cast<std::uintptr_t>(weights) % 16 == 0 && outputs % 16 == 0 && inputs % 64 == 0;
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
    const auto go = [&](auto shares) {
      const auto kernel = project_kernel<groups, shares>;
      const std::size_t bytes = sum_bytes<16, groups>(shares);
      allow_shared(kernel, bytes);
      launch_dependent(kernel, dim3(outputs / 16), 32 * shares, bytes, stream, static_cast<const bf16*>(x.x), x.squares,
                       count, eps, static_cast<const bf16*>(weights), outputs, inputs, y);
    };
    inputs < kLongInputs ? go(std::integral_constant<int, kShortShares>{})
                         : go(std::integral_constant<int, kLongShares>{});
  });
}

void add_few_rows(const Stream& stream, const void* x, int count, const void* weights, const void* bias, int outputs,
                  int inputs, const NextNorm& next, float* hidden, const Weighted& out) {
  with_groups(count, [&](auto groups) {
    const auto go = [&](auto shares) {
      const auto kernel = add_kernel<groups, shares>;
      const std::size_t bytes = sum_bytes<16, groups>(shares);
      allow_shared(kernel, bytes);
      launch_dependent(kernel, dim3(outputs / 16), 32 * shares, bytes, stream, static_cast<const bf16*>(x), count,
                       static_cast<const bf16*>(weights), static_cast<const bf16*>(bias), outputs, inputs,
                       static_cast<const bf16*>(next.weight), next.offset, hidden, static_cast<bf16*>(out.x),
                       out.squares);
    };
    inputs < kLongInputs ? go(std::integral_constant<int, kShortShares>{})
                         : go(std::integral_constant<int, kLongShares>{});
  });
}

void gate_few_rows(const Stream& stream, const Weighted& x, int count, float eps, const void* weights, const void* bias,
                   int inner, int inputs, Gate gate, void* y) {
  with_groups(count, [&](auto groups) {
    const auto kernel = gate_product_kernel<groups, kShortShares>;
    const std::size_t bytes = sum_bytes<32, groups>(kShortShares);
    allow_shared(kernel, bytes);
    launch_dependent(kernel, dim3(inner / 16), 32 * kShortShares, bytes, stream, static_cast<const bf16*>(x.x),
                     x.squares, count, eps, static_cast<const bf16*>(weights), static_cast<const bf16*>(bias), inner,
                     inputs, gate == Gate::gelu_tanh, static_cast<bf16*>(y));
  });
}

}  // namespace rlflow::cuda
