// From logits to tokens and their log-probabilities, for one instruction set.
#pragma once

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/cpu/vector.h"
#include "runtime/contract/philox.h"

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

// The largest logit times inverse_temperature, and Σe and Σe·(z−top) of e = e^(z−top).
struct Softmax {
  float top, mass, weighted;
};

inline Softmax softmax(const float* z, std::int64_t vocabulary, float inverse_temperature) {
  const Vec lowest = splat(-__builtin_inff());
  Vec best = lowest;
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    best = larger(best, load_part(z + v, vocabulary - v, -__builtin_inff()) * inverse_temperature);
  }
  const float top = maximum(best);
  Vec mass{}, weighted{};
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    const Vec shifted = load_part(z + v, vocabulary - v, -__builtin_inff()) * inverse_temperature - top;
    const Vec e = exp(shifted);
    mass += e;
    weighted += choose(e > 0.0f, e * shifted, e);  // not 0·(−∞); a NaN stays
  }
  return {top, sum(mass), sum(weighted)};
}

// logprob = z_token − top − ln Σe ≤ 0, since e of the top is 1; entropy = ln Σe − Σe·(z−top)/Σe.
TokenTarget token_logprob(const float* z, std::int64_t vocabulary, float inverse_temperature, std::int32_t token) {
  const Softmax s = softmax(z, vocabulary, inverse_temperature);
  const float log_mass = log(splat(s.mass))[0];
  return {(z[token] * inverse_temperature - s.top) - log_mass, log_mass - s.weighted / s.mass};
}

// d logprob/dz_v = (1[v = token] − p_v)/T; d entropy/dz_v = −p_v·(ln p_v + entropy)/T.
void token_logprob_backward(float* z, std::int64_t vocabulary, float inverse_temperature, std::int32_t token,
                            float dlogprob, float dentropy) {
  const Softmax s = softmax(z, vocabulary, inverse_temperature);
  const float log_mass = log(splat(s.mass))[0];
  const float entropy = log_mass - s.weighted / s.mass;
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    const Vec shifted = load_part(z + v, vocabulary - v, -__builtin_inff()) * inverse_temperature - s.top;
    const Vec p = exp(shifted) / s.mass;
    const Vec slope = choose(p > 0.0f, p * (shifted - log_mass + entropy), p);
    const Vec likelihood = p * dlogprob;  // named, so that the order of operations is the same in all tables
    const Vec spread = slope * dentropy;
    store_part(z + v, (likelihood + spread) * -inverse_temperature, vocabulary - v);
  }
  z[token] += dlogprob * inverse_temperature;
}

std::int32_t sample_token(const float* z, std::int64_t vocabulary, float inverse_temperature, std::uint64_t key,
                          std::uint32_t position) {
  float best = -__builtin_inff();
  std::int64_t choice = 0;
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    float units[16];
    for (std::uint32_t block = 0; block < 4; ++block) {
      const PhiloxBlock words = philox4x32({static_cast<std::uint32_t>(v / 4) + block, position, 0, 0}, key);
      for (std::uint32_t i = 0; i < 4; ++i) units[4 * block + i] = open_unit(words[i]);
    }
    const Vec noisy =
        load_part(z + v, vocabulary - v, -__builtin_inff()) * inverse_temperature - log(-log(load(units)));
    for (std::int64_t i = 0; i < 16 && v + i < vocabulary; ++i) {
      if (noisy[i] > best) {
        best = noisy[i];
        choice = v + i;
      }
    }
  }
  return static_cast<std::int32_t>(choice);
}

std::int32_t likeliest_token(const float* z, std::int64_t vocabulary) {
  std::int64_t choice = 0;
  for (std::int64_t v = 1; v < vocabulary; ++v) {
    if (z[v] > z[choice]) choice = v;
  }
  return static_cast<std::int32_t>(choice);
}

}  // namespace
}  // namespace rlflow::cpu::RLFLOW_ISA
