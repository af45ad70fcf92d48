// Whole buffers on the device: conversion and the digest of weights.
#include <cuda_bf16.h>

#include <algorithm>

#include "nodes/cuda/elements.h"
#include "nodes/cuda/status.h"

namespace rlflow::cuda {
namespace {

constexpr int kThreads = 256;

int blocks_for(std::int64_t count) {
  return static_cast<int>(std::min<std::int64_t>((count + kThreads - 1) / kThreads, 132 * 16));
}

__device__ void assign(float& to, float from) { to = from; }
__device__ void assign(__nv_bfloat16& to, float from) { to = __float2bfloat16_rn(from); }
__device__ float number(float from) { return from; }
__device__ float number(__nv_bfloat16 from) { return __bfloat162float(from); }
__device__ std::uint64_t bits(float from) { return __float_as_uint(from); }
__device__ std::uint64_t bits(__nv_bfloat16 from) { return __bfloat16_as_ushort(from); }

template <class From, class To>
__global__ void convert_all(const From* from, To* to, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    assign(to[i], number(from[i]));
  }
}

__global__ void fill_all(float* to, float value, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    to[i] = value;
  }
}

// A number mod 2^128; its sums have no order.
struct Sum {
  unsigned long long lo, hi;
};

__device__ Sum plus(Sum a, Sum b) {
  Sum sum{a.lo + b.lo, a.hi + b.hi};
  sum.hi += sum.lo < a.lo ? 1 : 0;
  return sum;
}

__device__ unsigned long long mixed(unsigned long long x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

__device__ Sum mix128(unsigned long long id, unsigned long long index, unsigned long long value) {
  const unsigned long long k = id + index * 0x9e3779b97f4a7c15ULL;
  const unsigned long long lo = mixed(k ^ mixed(value + 0x9e3779b97f4a7c15ULL));
  return {lo, mixed(lo + k + 0xd1b54a32d192ed03ULL)};
}

__device__ Sum block_sum(Sum sum) {
  __shared__ Sum shared[kThreads];
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = plus(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  return shared[0];
}

constexpr int kDigestBlocks = kDigestScratch / sizeof(Sum);

// Every launch has kDigestBlocks blocks; block b adds its share to sums[b].
template <class T>
__global__ void digest_part(const T* values, unsigned long long id, std::int64_t count, Sum* sums) {
  Sum sum{0, 0};
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    sum = plus(sum, mix128(id, static_cast<unsigned long long>(i), bits(values[i])));
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = plus(sums[blockIdx.x], sum);
}

__global__ void add_up(const Sum* sums, int count, std::uint64_t* out) {
  Sum sum{0, 0};
  for (int i = threadIdx.x; i < count; i += kThreads) sum = plus(sum, sums[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    out[0] = sum.lo;
    out[1] = sum.hi;
  }
}

}  // namespace

void convert(const void* from, Element from_type, void* to, Element to_type, std::int64_t count, const Stream& stream) {
  if (count == 0) return;
  if (from_type == to_type) {
    if (from != to) copy(to, from, count * bytes_of(to_type), stream);
    return;
  }
  if (to_type == Element::bf16) {
    convert_all<<<blocks_for(count), kThreads, 0, stream.get()>>>(static_cast<const float*>(from),
                                                                  static_cast<__nv_bfloat16*>(to), count);
  } else {
    convert_all<<<blocks_for(count), kThreads, 0, stream.get()>>>(static_cast<const __nv_bfloat16*>(from),
                                                                  static_cast<float*>(to), count);
  }
  require_launched("convert");
}

void fill(float* to, float value, std::int64_t count, const Stream& stream) {
  if (count == 0) return;
  fill_all<<<blocks_for(count), kThreads, 0, stream.get()>>>(to, value, count);
  require_launched("fill");
}

void digest(const void* values, Element type, const DigestPart* parts, std::int64_t count, std::uint64_t* sum,
            void* scratch, const Stream& stream) {
  auto* sums = static_cast<Sum*>(scratch);
  fill_bytes(scratch, 0, kDigestScratch, stream);
  for (std::int64_t p = 0; p < count; ++p) {
    const DigestPart& part = parts[p];
    if (part.count == 0) continue;
    const int blocks = static_cast<int>(std::min<std::int64_t>((part.count + kThreads - 1) / kThreads, kDigestBlocks));
    if (type == Element::f32) {
      digest_part<<<blocks, kThreads, 0, stream.get()>>>(static_cast<const float*>(values) + part.first, part.id,
                                                         part.count, sums);
    } else {
      digest_part<<<blocks, kThreads, 0, stream.get()>>>(static_cast<const __nv_bfloat16*>(values) + part.first,
                                                         part.id, part.count, sums);
    }
    require_launched("digest_part");
  }
  add_up<<<1, kThreads, 0, stream.get()>>>(sums, kDigestBlocks, sum);
  require_launched("add_up");
}

}  // namespace rlflow::cuda
