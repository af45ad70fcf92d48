// The order-free digest of weights: what a version is known by.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/contract/digest.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Identity of a tensor in the digest: FNV-1a (64 bits) of its name, so it depends on no other tensor.
constexpr std::uint64_t tensor_id(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

// One element: with k = id + index·0x9e3779b97f4a7c15 (mod 2^64) and mix64 of runtime/contract/philox.h,
//   lo = mix64(k ^ mix64(bits + 0x9e3779b97f4a7c15)),  hi = mix64(lo + k + 0xd1b54a32d192ed03).
// `bits` is the element as stored (f32: 32 bits, bf16: 16 bits, zero-extended), so -0 and +0 differ, and so do NaNs.
WeightsDigest mix128(std::uint64_t id, std::uint64_t index, std::uint64_t bits);

// Σ mix128(id, i, bits of values[i]) mod 2^128, `threads` at once; the sum has no order. Of dtype bf16 the values are
// rounded already, and their 16 bits count.
WeightsDigest digest_of(std::uint64_t id, const float* values, std::int64_t count, std::int32_t threads,
                        Dtype dtype = Dtype::f32);

}  // namespace rlflow
