// The loss of a policy update on one chunk of tokens, and its gradient.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nodes/algo/kl.h"
#include "nodes/algo/policy_loss.h"
#include "nodes/model/passes.h"
#include "runtime/contract/attributes.h"

namespace rlflow {

enum class PolicyLossKind { ppo, gspo, cispo, sapo, gmpo, gpg, reinforce, dppo_tv, dppo_kl, clip_cov, kl_cov };

// Σ_t w_t·(v_t·L_t + c_KL·K(ℓ_t, ℓ_ref,t) − c_H·H_t), v_t of the off-policy correction, 1 without one.
struct PolicyObjective {
  PolicyLossKind loss = PolicyLossKind::ppo;
  algo::PpoClip clip;
  double kl = 0;  // c_KL
  algo::KlKind kl_kind = algo::KlKind::k3;
  double entropy = 0;  // c_H
};
PolicyObjective policy_objective(const Attributes& settings);

// Whether a token is charged for depends on all tokens of the minibatch: their log-probabilities are wanted first.
bool chooses_tokens(const PolicyObjective& objective);
// Whether a token without an advantage may still move the gradient.
bool moves_without_advantage(const PolicyObjective& objective);
// bool[N] over a minibatch, for such an objective; `rank` i64[N] a permutation that decides what is random.
std::vector<std::uint8_t> chosen_tokens(const PolicyObjective& objective, std::span<const float> logprob,
                                        std::span<const float> old_logprob, std::span<const float> advantage,
                                        std::span<const std::uint8_t> mask, std::span<const std::int64_t> rank);

// One value for each token of a chunk, which holds whole responses; `reference`, `correction` and `chosen` are empty
// where there is none. Masked tokens have weight 0.
struct PolicyTokens {
  std::vector<float> old_logprob, advantage, weight, reference, correction;
  std::vector<std::int64_t> response;  // of the batch
  std::vector<std::uint8_t> chosen;
};

// Sums over the tokens of non-zero weight.
struct PolicySums {
  double loss = 0;  // weighted: the objective itself
  double clipped = 0, clipped_lower = 0, approx_kl = 0, kl = 0, entropy = 0;
  double tokens = 0;

  PolicySums& operator+=(const PolicySums& other);
};

// Fills chunk.dlogprob and chunk.dentropy.
PolicySums policy_loss(const PolicyObjective& objective, PolicyTokens& tokens, const ChunkLoss& chunk);

}  // namespace rlflow
