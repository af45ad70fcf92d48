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

// Clipped importance sampling with a gradient everywhere (MiniMax, "MiniMax-M1", 2025, equation 4):
//   L = −sg(clip(ρ, 1 − ε_lo, 1 + ε_hi))·A·ℓ; clipped: ρ lies outside.
PolicyLoss cispo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                      const PpoClip& clip);

// A soft gate instead of a clip (Gao et al., "Soft adaptive policy optimization", 2025):
//   L = −A·(4/τ)·σ(τ(ρ − 1)), τ = 1 where A > 0, else 1.05. Nothing counts as clipped.
PolicyLoss sapo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage);

// The geometric mean of the ratios of a response (Zhao et al., "Geometric-mean policy optimization", 2025):
//   d' = d clipped to [−ε_lo, ε_hi] on the side that A rewards, L_t = −A·e^(mean of d' over the response) for each of
//   its tokens; aggregate with seq_mean_token_mean. One advantage a response.
PolicyLoss gmpo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                     const at::Tensor& mask, const at::Tensor& response, std::int64_t responses, const PpoClip& clip);

// The policy gradient itself (Williams, 1992): L = −A·ℓ.
PolicyLoss reinforce_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage);

// A trust region in the probability of the token instead of its ratio (Qi et al., "Rethinking the trust region in LLM
// reinforcement learning", 2026): L = −A·sg(min(ρ, 20))·ℓ where the token is valid, else 0.
//   total_variation: p − p_old ≤ ε_hi (A > 0), ≥ −ε_lo (else)
//   binary_kl:       KL(p_old ‖ p) of {this token, another} ≤ ε_hi (A > 0) or ≤ ε_lo, or p moves back to p_old
// clipped: not valid.
enum class Divergence { total_variation, binary_kl };
PolicyLoss dppo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                     Divergence divergence, const PpoClip& clip);

// Tokens whose log-probability and advantage move together collapse the entropy (Cui et al., "The entropy mechanism of
// reinforcement learning", 2025). With cov_t = (A_t − Ā)(ℓ_t − ℓ̄) over the masked tokens of a minibatch of N:
//   clip_cov: max(1, ⌊2e-4·N⌋) random ones of those with 1 < cov < 5 that PPO's clip leaves alone; their loss is 0
//   kl_cov:   the max(1, ⌊2e-4·N⌋) largest; their loss is −A·ρ + |d|, that of the others −A·ρ
// `rank` i64[N] is a permutation that makes the random choice. Returns bool[N].
at::Tensor clip_cov_choice(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                           const at::Tensor& mask, const at::Tensor& rank, const PpoClip& clip);
at::Tensor kl_cov_choice(const at::Tensor& logprob, const at::Tensor& advantage, const at::Tensor& mask);
PolicyLoss clip_cov_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                         const at::Tensor& chosen, const PpoClip& clip);
PolicyLoss kl_cov_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                       const at::Tensor& chosen);

}  // namespace rlflow::algo
