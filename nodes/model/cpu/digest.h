// Sums of the digest of weights, for one instruction set.
#pragma once

#include "nodes/model/cpu/kernels.h"
#include "runtime/contract/philox.h"

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

using Words = std::uint64_t __attribute__((vector_size(32)));
constexpr int kGroups = 4;                    // their multiplications do not wait for each other
constexpr std::int64_t kWords = 4 * kGroups;  // elements at once
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;

// mix64 of runtime/contract/philox.h, element by element.
inline void mix_words(Words (&x)[kGroups]) {
#pragma GCC unroll 4
  for (Words& words : x) {
    words ^= words >> 30;
    words *= 0xbf58476d1ce4e5b9ULL;
    words ^= words >> 27;
    words *= 0x94d049bb133111ebULL;
    words ^= words >> 31;
  }
}

// Of `lo` 32 bits at a time, so that no carry is lost.
struct WordSums {
  Words low[kGroups] = {}, high[kGroups] = {}, upper[kGroups] = {};

  // `keys` of the first group; bits of kWords elements.
  void add(Words keys, const std::uint32_t* bits) {
    Words x[kGroups], key[kGroups];
    for (int g = 0; g < kGroups; ++g, bits += 4) {
      key[g] = keys + 4 * static_cast<std::uint64_t>(g) * kStep;
      x[g] = Words{bits[0], bits[1], bits[2], bits[3]} + kStep;
    }
    mix_words(x);
    for (int g = 0; g < kGroups; ++g) x[g] ^= key[g];
    mix_words(x);
    for (int g = 0; g < kGroups; ++g) {
      low[g] += x[g] & 0xffffffffULL;
      high[g] += x[g] >> 32;
      x[g] += key[g] + 0xd1b54a32d192ed03ULL;
    }
    mix_words(x);
    for (int g = 0; g < kGroups; ++g) upper[g] += x[g];
  }
};

DigestSums digest_sums(std::uint64_t id, std::uint64_t first, const float* values, std::int64_t count) {
  WordSums sums;
  std::uint64_t key = id + first * kStep;
  Words keys = Words{0, kStep, 2 * kStep, 3 * kStep} + key;
  std::int64_t i = 0;
  for (; i + kWords <= count; i += kWords, keys += kWords * kStep) {
    std::uint32_t bits[kWords];
    std::memcpy(bits, values + i, sizeof bits);
    sums.add(keys, bits);
  }
  key += static_cast<std::uint64_t>(i) * kStep;
  DigestSums total{};
  for (int k = 0; k < kWords; ++k) {
    total.lo_low += sums.low[k / 4][k % 4];
    total.lo_high += sums.high[k / 4][k % 4];
    total.hi += sums.upper[k / 4][k % 4];
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
