// Sums of the digest of weights, for one instruction set.
#pragma once

#include "nodes/model/cpu/kernels.h"
#include "runtime/contract/philox.h"

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

using Words = std::uint64_t __attribute__((vector_size(32)));
constexpr std::int64_t kWords = 4;

// mix64 of runtime/contract/philox.h, four at once.
inline Words mix_words(Words x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Of `lo` 32 bits at a time, so that no carry is lost.
struct WordSums {
  Words low{}, high{}, upper{};

  void add(Words key, const std::uint32_t* bits) {
    const Words lo = mix_words(key ^ mix_words(Words{bits[0], bits[1], bits[2], bits[3]} + 0x9e3779b97f4a7c15ULL));
    low += lo & 0xffffffffULL;
    high += lo >> 32;
    upper += mix_words(lo + key + 0xd1b54a32d192ed03ULL);
  }
};

DigestSums digest_sums(std::uint64_t id, std::uint64_t first, const float* values, std::int64_t count) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  WordSums sums;
  std::uint64_t key = id + first * kStep;
  Words keys = Words{0, kStep, 2 * kStep, 3 * kStep} + key;
  std::int64_t i = 0;
  for (; i + kWords <= count; i += kWords) {
    std::uint32_t bits[kWords];
    std::memcpy(bits, values + i, sizeof bits);
    sums.add(keys, bits);
    keys += kWords * kStep;
  }
  key += static_cast<std::uint64_t>(i) * kStep;
  DigestSums total{};
  for (int k = 0; k < kWords; ++k) {
    total.lo_low += sums.low[k];
    total.lo_high += sums.high[k];
    total.hi += sums.upper[k];
  }
  for (; i < count; ++i, key += kStep) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, values + i, sizeof bits);
    const std::uint64_t lo = mix64(key ^ mix64(bits + kStep));
    total.lo_low += lo & 0xffffffffULL;
    total.lo_high += lo >> 32;
    total.hi += mix64(lo + key + 0xd1b54a32d192ed03ULL);
  }
  return total;
}

}  // namespace
}  // namespace rlflow::cpu::RLFLOW_ISA
