// The loss of a policy update on one chunk of tokens, and its gradient.
#pragma once

#include <vector>

#include "nodes/algo/kl.h"
#include "nodes/algo/policy_loss.h"
#include "nodes/model/passes.h"
#include "runtime/contract/attributes.h"

namespace rlflow {

// Σ_t w_t·(L_t + c_KL·K(ℓ_t, ℓ_ref,t) − c_H·H_t)
struct PolicyObjective {
  algo::PpoClip clip;
  double kl = 0;  // c_KL
  algo::KlKind kl_kind = algo::KlKind::k3;
  double entropy = 0;  // c_H
};
PolicyObjective policy_objective(const Attributes& settings);

// One value for each token of a chunk; `reference` is empty without reference log-probabilities.
struct PolicyTokens {
  std::vector<float> old_logprob, advantage, weight, reference;
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
