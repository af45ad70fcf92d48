// Whole buffers on the device: conversion and the digest of weights.
#pragma once

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

// to[i] = from[i], rounded to nearest even where `to` is bf16. The two may be the same buffer where the types are
// equal.
void convert(const void* from, Element from_type, void* to, Element to_type, std::int64_t count, const Stream& stream);

// to[i] = value.
void fill(float* to, float value, std::int64_t count, const Stream& stream);

// A run of elements with a tensor id, elements first … first + count of a buffer.
struct DigestPart {
  std::uint64_t id = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Σ over the `count` parts (on the host) of mix128(id, index in the part, bits as stored) mod 2^128, as
// nodes/model/weights_digest.h says it, to `sum` u64[2] {lo, hi} on the device. `scratch` has kDigestScratch bytes.
inline constexpr std::int64_t kDigestScratch = 1 << 16;
void digest(const void* values, Element type, const DigestPart* parts, std::int64_t count, std::uint64_t* sum,
            void* scratch, const Stream& stream);

}  // namespace rlflow::cuda
