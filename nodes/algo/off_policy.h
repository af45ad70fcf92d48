// Weights of samples that an older policy, or another way to compute it, has drawn.
#pragma once

#include <ATen/core/Tensor.h>

namespace rlflow::algo {

// Below x f32[N] = ℓ_old − ℓ_rollout of each token, |x| ≤ 20; mask bool[N]; response i64[N] of `responses`. Weights
// f32[N] multiply the policy term of the loss alone, without gradient; denominators do not change. Sums over a response
// are of its masked tokens.
struct TokenRatios {
  at::Tensor log_ratio;  // x
  at::Tensor mask, response;
  std::int64_t responses = 0;
};

// min(e^x, c) (Yao et al., "Your efficient RL framework secretly brings you off-policy RL training", 2025).
at::Tensor truncated(const TokenRatios& ratios, double c);
// min(e^(Σ x), c), the same for every token of a response.
at::Tensor truncated_by_response(const TokenRatios& ratios, double c);
// e^x where lo ≤ e^x ≤ hi, else 0 (Ling Team, "Every step evolves" (IcePop), 2025).
at::Tensor masked_outside(const TokenRatios& ratios, double lo, double hi);
// 1, or 0 on a response whose mean K(x) exceeds `bound`: k1 −x, k2 ½x², k3 e^x − x − 1, each an estimate of
// KL(rollout ‖ old).
enum class Distance { k1, k2, k3 };
at::Tensor rejected_beyond(const TokenRatios& ratios, Distance distance, double bound);

// How far the samples are: means over masked tokens. kl: −x; k3: e^x − x − 1; chi2: e^(2x) − 1. ess is the effective
// sample size (Σw)²/(N·Σw²) of weights w, 1 where all are equal, 0 where all are 0.
struct OffPolicyMetrics {
  double kl = 0, k3 = 0, chi2 = 0, ess = 0;
};
OffPolicyMetrics off_policy_metrics(const TokenRatios& ratios, const at::Tensor& weights);

}  // namespace rlflow::algo
