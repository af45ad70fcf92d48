// How the KL divergence is estimated from two log-probabilities.
#include "nodes/algo/kl.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace rlflow::algo {

std::optional<KlKind> kl_kind_from_name(std::string_view name) {
  if (name == "k1") return KlKind::k1;
  if (name == "abs") return KlKind::abs;
  if (name == "k2") return KlKind::k2;
  if (name == "k3") return KlKind::k3;
  if (name == "k1_plus") return KlKind::k1_plus;
  if (name == "abs_plus") return KlKind::abs_plus;
  if (name == "k3_plus") return KlKind::k3_plus;
  return std::nullopt;
}

at::Tensor kl(const at::Tensor& logprob, const at::Tensor& reference, KlKind kind) {
  const at::Tensor delta = logprob - reference;
  const auto k2 = [&] { return 0.5 * delta.square(); };
  const auto k3 = [&] { return at::clamp(at::exp(at::clamp(-delta, -20, 20)) + delta - 1, -10, 10); };
  const auto with_gradient_of_k2 = [&](const at::Tensor& value) { return k2() + (value - k2()).detach(); };
  switch (kind) {
    case KlKind::k1: return delta;
    case KlKind::abs: return delta.abs();
    case KlKind::k2: return k2();
    case KlKind::k3: return k3();
    case KlKind::k1_plus: return with_gradient_of_k2(delta);
    case KlKind::abs_plus: return with_gradient_of_k2(delta.abs());
    case KlKind::k3_plus: return with_gradient_of_k2(k3());
  }
  return delta;
}

double adapted_kl_coefficient(double beta, double mean_kl, double target, double responses, double horizon) {
  return beta * (1 + std::clamp(mean_kl / target - 1, -0.2, 0.2) * responses / horizon);
}

}  // namespace rlflow::algo
