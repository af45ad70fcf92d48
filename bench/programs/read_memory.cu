// A pass over device memory that only reads.
#include "bench/programs/read_memory.h"

#include "nodes/cuda/status.h"

namespace rlflow::bench {
namespace {

constexpr int kLoads = 8;

__global__ void read_kernel(const uint4* from, std::int64_t count, unsigned* sink) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned total = 0;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + (kLoads - 1) * stride < count; i += kLoads * stride) {
    uint4 values[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) values[k] = __ldcs(from + i + k * stride);
#pragma unroll
    for (int k = 0; k < kLoads; ++k) total ^= values[k].x ^ values[k].y ^ values[k].z ^ values[k].w;
  }
  if (total == 0x12345677u) *sink = total;
}

}  // namespace

void read_memory(const cuda::Stream& stream, const void* from, std::int64_t bytes, void* sink) {
  read_kernel<<<132 * 4, 512, 0, stream.get()>>>(static_cast<const uint4*>(from), bytes / 16,
                                                 static_cast<unsigned*>(sink));
  cuda::require_launched("read_kernel");
}

}  // namespace rlflow::bench
