// Losses of a policy, token by token.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace rlflow::algo {

struct PpoClip {
  double low = 0.2;            // ε_lo
  double high = 0.2;           // ε_hi
  std::optional<double> dual;  // c > 1: bounds the loss of negative advantages by −A·c
};

struct PolicyLoss {
  at::Tensor loss;           // f32[N], differentiable in logprob
  at::Tensor clipped;        // bool[N], L2 > L1: its masked mean is clipfrac
  at::Tensor clipped_lower;  // bool[N], max(L1, L2) > −A·c and A < 0: its masked mean is clipfrac_lower
  at::Tensor approx_kl;      // f32[N], −d: its masked mean is approx_kl
};

// The clipped surrogate (Schulman et al., "Proximal policy optimization algorithms", 2017, equation 7), and the dual
// clip (Ye et al., "Mastering complex control in MOBA games", 2020, equation 5):
//   d = clip(ℓ − ℓ_old, ±20), ρ = e^d
//   L1 = −A·ρ, L2 = −A·clip(ρ, 1 − ε_lo, 1 + ε_hi), L = max(L1, L2); if A < 0 and dual: L = min(L, −A·c)
// logprob, old_logprob, advantage f32[N]; advantages and old log-probabilities carry no gradient.
PolicyLoss ppo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                    const PpoClip& clip);

// Group sequence policy optimisation (Zheng et al., 2025): PPO's clip with one ratio a response.
//   d̄_i = Σ_i m(ℓ − ℓ_old) ÷ max(|y_i|, 1); log s_t = ℓ − sg(ℓ) + sg(d̄_i), clamped ≤ 10; no dual clip.
// `response` i64[N] of `responses`; aggregate with seq_mean_token_mean.
PolicyLoss gspo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                     const at::Tensor& mask, const at::Tensor& response, std::int64_t responses, const PpoClip& clip);

}  // namespace rlflow::algo
