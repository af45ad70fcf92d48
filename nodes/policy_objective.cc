// The policy loss of one micro-batch, with its metrics.
#include "nodes/policy_objective.h"

#include <ATen/ATen.h>

#include "nodes/algo/aggregate.h"
#include "nodes/batch_tensors.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

at::Tensor borrow(std::vector<float>& values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat);
}

double masked_sum(const at::Tensor& x, const at::Tensor& mask) {
  return x.masked_select(mask).to(at::kDouble).sum().item<double>();
}

}  // namespace

PolicyObjective policy_objective(const Attributes& settings) {
  PolicyObjective objective;
  objective.clip.low = real_at(settings, "clip");
  objective.clip.high = has(settings, "clip_high") ? real_at(settings, "clip_high") : objective.clip.low;
  if (has(settings, "dual_clip")) objective.clip.dual = real_at(settings, "dual_clip");
  objective.kl = real_at(settings, "kl");
  const std::string kind = text_at(settings, "kl_kind");
  const std::optional<algo::KlKind> kl_kind = algo::kl_kind_from_name(kind);
  RLFLOW_CHECK(kl_kind, kind);
  objective.kl_kind = *kl_kind;
  objective.entropy = real_at(settings, "entropy");
  return objective;
}

PolicySums& PolicySums::operator+=(const PolicySums& other) {
  loss += other.loss;
  clipped += other.clipped;
  clipped_lower += other.clipped_lower;
  approx_kl += other.approx_kl;
  kl += other.kl;
  entropy += other.entropy;
  tokens += other.tokens;
  return *this;
}

PolicySums policy_loss(const PolicyObjective& objective, PolicyTokens& tokens, const ChunkLoss& chunk) {
  const at::Tensor logprob = leaf_of(chunk.logprob), entropy = leaf_of(chunk.entropy), weight = borrow(tokens.weight);
  const algo::PolicyLoss policy =
      algo::ppo_loss(logprob, borrow(tokens.old_logprob), borrow(tokens.advantage), objective.clip);
  const at::Tensor mask = weight != 0;
  PolicySums sums;
  at::Tensor total = algo::weighted_sum(policy.loss, weight);
  if (!tokens.reference.empty()) {
    const at::Tensor kl = algo::kl(logprob, borrow(tokens.reference), objective.kl_kind);
    sums.kl = masked_sum(kl.detach(), mask);
    if (objective.kl > 0) total = total + objective.kl * algo::weighted_sum(kl, weight);
  }
  if (objective.entropy > 0) total = total - objective.entropy * algo::weighted_sum(entropy, weight);
  total.backward();
  copy_gradient(logprob, chunk.dlogprob);
  copy_gradient(entropy, chunk.dentropy);
  sums.loss = total.item<double>();
  sums.clipped = masked_sum(policy.clipped, mask);
  sums.clipped_lower = masked_sum(policy.clipped_lower, mask);
  sums.approx_kl = masked_sum(policy.approx_kl, mask);
  sums.entropy = masked_sum(entropy.detach(), mask);
  sums.tokens = masked_sum(mask, mask);
  return sums;
}

}  // namespace rlflow
