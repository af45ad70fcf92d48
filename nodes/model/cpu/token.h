// From logits to tokens and their log-probabilities, for one instruction set.
#pragma once

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/cpu/vector.h"
#include "runtime/contract/philox.h"

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

// With e = e^((z−top)/T): log_mass = ln Σe, entropy = ln Σe − Σe·(z−top)/T/Σe.
Softmax softmax(const float* z, std::int64_t vocabulary, float inverse_temperature) {
  const Vec lowest = splat(-__builtin_inff());
  Vec best = lowest;
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    best = larger(best, load_part(z + v, vocabulary - v, -__builtin_inff()));
  }
  const float top = maximum(best);
  Vec mass{}, weighted{};
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    const Vec shifted = (load_part(z + v, vocabulary - v, -__builtin_inff()) - top) * inverse_temperature;
    const Vec e = exp(shifted);
    mass += e;
    weighted += choose(e > 0.0f, e * shifted, e);  // not 0·(−∞); a NaN stays
  }
  const float total = sum(mass), log_mass = log(splat(total))[0];
  return {top, total, log_mass, log_mass - sum(weighted) / total};
}

// d log_mass/dz_v = p_v/T; d entropy/dz_v = −p_v·(ln p_v + entropy)/T.
void softmax_backward(float* z, std::int64_t vocabulary, float inverse_temperature, const Softmax& s, float dlog_mass,
                      float dentropy) {
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    const Vec shifted = (load_part(z + v, vocabulary - v, -__builtin_inff()) - s.top) * inverse_temperature;
    const Vec p = exp(shifted) / s.mass;
    const Vec slope = choose(p > 0.0f, p * (shifted - s.log_mass + s.entropy), p);
    const Vec likelihood = p * dlog_mass;  // named, so that the order of operations is the same in all tables
    const Vec spread = slope * dentropy;
    store_part(z + v, (likelihood + spread) * -inverse_temperature, vocabulary - v);
  }
}

// The words of 16 blocks, first … first+15: word k of block first+b is words[k][b].
inline void philox_words(std::uint32_t first, std::uint32_t position, std::uint64_t key,
                         std::uint32_t (&words)[4][16]) {
  std::uint32_t a[16], b[16], c[16] = {}, d[16] = {};
  for (std::uint32_t i = 0; i < 16; ++i) a[i] = first + i;
  for (std::uint32_t i = 0; i < 16; ++i) b[i] = position;
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 16; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * a[i], p1 = std::uint64_t{0xCD9E8D57} * c[i];
      a[i] = static_cast<std::uint32_t>(p1 >> 32) ^ b[i] ^ k0;
      b[i] = static_cast<std::uint32_t>(p1);
      c[i] = static_cast<std::uint32_t>(p0 >> 32) ^ d[i] ^ k1;
      d[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  std::memcpy(words[0], a, sizeof a);
  std::memcpy(words[1], b, sizeof b);
  std::memcpy(words[2], c, sizeof c);
  std::memcpy(words[3], d, sizeof d);
}

// More than the noise of any word: the largest is −ln(−ln(1 − 2⁻²⁴)) = 16.636.
inline constexpr float kNoiseLimit = 16.65f;

// A word below this cannot lift a value of at most `value` above `best`. From u = e^(−e^(−gap)), less what rounding
// can do: 1e-3 on the gap, 1e-6 on its terms, 4e-7 on u.
inline std::uint32_t losing_words(float best, float value) {
  const float gap = best - value - 1e-3f - 1e-6f * (__builtin_fabsf(best) + __builtin_fabsf(value));
  if (!(gap > -4.0f)) return 0;
  const float u = exp(-exp(splat(-gap)))[0] - 4e-7f;
  return u > 0.0f ? static_cast<std::uint32_t>(u * 0x1p23f) << 9 : 0;
}

// The sampling of kernels.h in groups of 64 entries. Noise is computed where it could matter alone: a group is left out
// when the largest noise would not lift its largest logit above the best so far, or when none of its random words
// would.
std::int32_t sample_token(const float* z, std::int64_t vocabulary, float inverse_temperature, float floor,
                          std::uint64_t key, std::uint32_t position) {
  float best = -__builtin_inff();
  std::int64_t choice = 0;
  for (std::int64_t first = 0; first < vocabulary; first += 64) {
    const std::int64_t end = vocabulary - first < 64 ? vocabulary : first + 64;
    Vec largest = splat(-__builtin_inff());
    for (std::int64_t v = first; v < end; v += kLanes) {
      largest = larger(load_part(z + v, end - v, -__builtin_inff()), largest);
    }
    const float top = maximum(largest), value = top * inverse_temperature;
    if (top < floor || value + kNoiseLimit < best) continue;
    std::uint32_t words[4][16], highest = 0;
    philox_words(static_cast<std::uint32_t>(first / 4), position, key, words);
    for (int k = 0; k < 4; ++k) {
      for (int b = 0; b < 16; ++b) highest = words[k][b] > highest ? words[k][b] : highest;
    }
    if (highest < losing_words(best, value)) continue;
    for (std::int64_t v = first; v < end; v += kLanes) {
      float units[16];
      const std::int64_t block = (v - first) / 4;
      for (int i = 0; i < 16; ++i) units[i] = open_unit(words[i % 4][block + i / 4]);
      const Vec logits = load_part(z + v, end - v, -__builtin_inff());
      const Vec noisy =
          choose(logits >= floor, logits * inverse_temperature - log(-log(load(units))), splat(-__builtin_inff()));
      if (!(maximum(noisy) > best)) continue;
      for (std::int64_t i = 0; i < 16; ++i) {
        if (noisy[i] > best) {
          best = noisy[i];
          choice = v + i;
        }
      }
    }
  }
  return static_cast<std::int32_t>(choice);
}

std::int32_t likeliest_token(const float* z, std::int64_t vocabulary) {
  Vec largest = splat(-__builtin_inff());
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    largest = larger(load_part(z + v, vocabulary - v, -__builtin_inff()), largest);
  }
  const float top = maximum(largest);
  std::int64_t choice = 0;
  while (choice < vocabulary && z[choice] != top) ++choice;
  return static_cast<std::int32_t>(choice < vocabulary ? choice : 0);
}

}  // namespace
}  // namespace rlflow::cpu::RLFLOW_ISA
