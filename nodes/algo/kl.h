// Estimators of the KL divergence from token log-probabilities.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace rlflow::algo {

// δ = ℓ − ℓ_ref. k1 δ; abs |δ|; k2 ½δ²; k3 e^{−δ} + δ − 1 with −δ clamped to ±20 and the result to ±10
// (Schulman, "Approximating KL divergence", 2020). …_plus: the value of the kind with the gradient of k2.
enum class KlKind { k1, abs, k2, k3, k1_plus, abs_plus, k3_plus };
std::optional<KlKind> kl_kind_from_name(std::string_view name);

// logprob f32[N], reference f32[N] → f32[N], differentiable in logprob.
at::Tensor kl(const at::Tensor& logprob, const at::Tensor& reference, KlKind kind);

// β after use: β·(1 + clip(k̄/target − 1, ±0.2)·B/horizon), k̄ the mean KL of a batch of B responses
// (Ziegler et al., "Fine-tuning language models from human preferences", 2019, section 2.2).
double adapted_kl_coefficient(double beta, double mean_kl, double target, double responses, double horizon);

}  // namespace rlflow::algo
