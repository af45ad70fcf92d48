// Randomness without state: numbers are a function of a key and a counter (Philox4x32-10, Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", 2011), so nothing has to be saved to repeat them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/contract/check.h"

namespace rlflow {

// What numbers are drawn for: keys of different purposes never meet. The numbers are part of results; never reuse one.
enum class RandomPurpose : std::uint64_t {
  sampling = 1,    // tokens of a rollout
  init = 2,        // weights
  data_row = 3,    // rows of a generator
  data_order = 4,  // order of a data set with `shuffle`
  minibatch = 5,   // order of sequences inside an update
  evaluation = 6,  // tokens of an evaluation
  loss = 7,        // tokens that a loss chooses at random
  adapters = 8,    // low-rank additions to weights
};

// The finaliser of splitmix64: a bijection of 64 bits in which every input bit changes every output bit.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// H64: a key from an ordered list of numbers, e.g. h64(sampling, {run seed, step, slot of the prompt, sample}).
constexpr std::uint64_t h64(RandomPurpose purpose, std::initializer_list<std::uint64_t> fields) {
  std::uint64_t h = mix64(static_cast<std::uint64_t>(purpose) + 0x9e3779b97f4a7c15ULL);
  for (std::uint64_t field : fields) h = mix64(h + 0x9e3779b97f4a7c15ULL + mix64(field + 0xd1b54a32d192ed03ULL));
  return h;
}

using PhiloxBlock = std::array<std::uint32_t, 4>;

// Ten rounds. For key 0 and counter 0: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

// A word as a number of (0, 1), both ends excluded, exact in f32: (top 23 bits + ½)·2⁻²³.
constexpr float open_unit(std::uint32_t word) { return (static_cast<float>(word >> 9) + 0.5f) * 0x1p-23f; }

// The words of one key in the order of a 64-bit block counter. A plain value; not shared between threads.
class PhiloxStream {
 public:
  explicit constexpr PhiloxStream(std::uint64_t key) : key_(key) {}

  constexpr std::uint32_t word() {
    if (used_ == 4) {
      words_ = philox4x32({static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32), 0, 0}, key_);
      ++block_;
      used_ = 0;
    }
    return words_[used_++];
  }
  constexpr std::uint64_t word64() {
    const std::uint64_t low = word();
    return low | std::uint64_t{word()} << 32;
  }
  // [0, 1), 53 bits.
  constexpr double uniform() { return static_cast<double>(word64() >> 11) * 0x1p-53; }
  // 0 … bound−1, each equally likely (the unfair remainder is drawn again); bound ≥ 1.
  constexpr std::uint64_t below(std::uint64_t bound) {
    RLFLOW_CHECK(bound > 0, "a draw below 0");
    const std::uint64_t unfair = (0 - bound) % bound;  // 2^64 mod bound
    std::uint64_t x = word64();
    while (x < unfair) x = word64();
    return x % bound;
  }
  // Standard normal (Box–Muller): √(−2 ln u₁)·cos 2πu₂ with u₁ of (0, 1].
  double normal() {
    const double u1 = 1.0 - uniform();
    const double u2 = uniform();
    return std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * std::numbers::pi * u2);
  }

 private:
  std::uint64_t key_;
  std::uint64_t block_ = 0;
  PhiloxBlock words_{};
  unsigned used_ = 4;
};

// A permutation of 0 … n−1, each equally likely (Fisher–Yates from the end).
inline std::vector<std::int64_t> permutation(std::int64_t n, PhiloxStream stream) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

}  // namespace rlflow
