// Gumbel noise on the device: the numbers of runtime/contract/philox.h.
#pragma once

#include <cstdint>

namespace rlflow::cuda {

struct PhiloxWords {
  std::uint32_t word[4];
};

__device__ inline PhiloxWords philox_words(std::uint32_t block, std::uint32_t position, std::uint64_t key) {
  std::uint32_t a = block, b = position, c = 0, d = 0;
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * a, p1 = std::uint64_t{0xCD9E8D57} * c;
    a = static_cast<std::uint32_t>(p1 >> 32) ^ b ^ k0;
    b = static_cast<std::uint32_t>(p1);
    c = static_cast<std::uint32_t>(p0 >> 32) ^ d ^ k1;
    d = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{a, b, c, d}};
}

__device__ inline float gumbel(std::uint32_t word) {
  const float unit = (static_cast<float>(word >> 9) + 0.5f) * 0x1p-23f;
  return -logf(-logf(unit));
}

}  // namespace rlflow::cuda
