// The policy loss of one micro-batch, with its metrics.
#include "nodes/policy_objective.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <utility>

#include "nodes/algo/aggregate.h"
#include "nodes/batch_tensors.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

at::Tensor borrow(std::vector<float>& values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat);
}

at::Tensor bits(std::span<const std::uint8_t> values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kBool);
  std::transform(values.begin(), values.end(), tensor.data_ptr<bool>(), [](std::uint8_t bit) { return bit != 0; });
  return tensor;
}

at::Tensor longs_of(std::span<const std::int64_t> values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), tensor.data_ptr<std::int64_t>());
  return tensor;
}

PolicyLossKind loss_kind(const std::string& name) {
  static const std::map<std::string, PolicyLossKind> kKinds = {{"ppo", PolicyLossKind::ppo},
                                                               {"gspo", PolicyLossKind::gspo},
                                                               {"cispo", PolicyLossKind::cispo},
                                                               {"sapo", PolicyLossKind::sapo},
                                                               {"gmpo", PolicyLossKind::gmpo},
                                                               {"gpg", PolicyLossKind::gpg},
                                                               {"reinforce", PolicyLossKind::reinforce},
                                                               {"dppo_tv", PolicyLossKind::dppo_tv},
                                                               {"dppo_kl", PolicyLossKind::dppo_kl},
                                                               {"clip_cov", PolicyLossKind::clip_cov},
                                                               {"kl_cov", PolicyLossKind::kl_cov}};
  const auto at = kKinds.find(name);
  RLFLOW_CHECK(at != kKinds.end(), name);
  return at->second;
}

// Responses of a chunk, numbered from 0 without gaps.
std::pair<at::Tensor, std::int64_t> numbered(const std::vector<std::int64_t>& response) {
  at::Tensor numbers = at::empty({static_cast<std::int64_t>(response.size())}, at::kLong);
  std::map<std::int64_t, std::int64_t> seen;
  for (std::size_t t = 0; t < response.size(); ++t) {
    const auto [at, is_new] = seen.emplace(response[t], static_cast<std::int64_t>(seen.size()));
    numbers.data_ptr<std::int64_t>()[t] = at->second;
  }
  return {numbers, static_cast<std::int64_t>(seen.size())};
}

algo::PolicyLoss loss_of(const PolicyObjective& objective, const at::Tensor& logprob, const at::Tensor& mask,
                         PolicyTokens& tokens) {
  const at::Tensor old = borrow(tokens.old_logprob), advantage = borrow(tokens.advantage);
  const algo::PpoClip& clip = objective.clip;
  switch (objective.loss) {
    case PolicyLossKind::ppo: return algo::ppo_loss(logprob, old, advantage, clip);
    case PolicyLossKind::cispo: return algo::cispo_loss(logprob, old, advantage, clip);
    case PolicyLossKind::sapo: return algo::sapo_loss(logprob, old, advantage);
    case PolicyLossKind::gpg:
    case PolicyLossKind::reinforce: return algo::reinforce_loss(logprob, old, advantage);
    case PolicyLossKind::dppo_tv:
      return algo::dppo_loss(logprob, old, advantage, algo::Divergence::total_variation, clip);
    case PolicyLossKind::dppo_kl: return algo::dppo_loss(logprob, old, advantage, algo::Divergence::binary_kl, clip);
    case PolicyLossKind::clip_cov: return algo::clip_cov_loss(logprob, old, advantage, bits(tokens.chosen), clip);
    case PolicyLossKind::kl_cov: return algo::kl_cov_loss(logprob, old, advantage, bits(tokens.chosen));
    case PolicyLossKind::gspo:
    case PolicyLossKind::gmpo: {
      const auto [response, responses] = numbered(tokens.response);
      const auto loss = objective.loss == PolicyLossKind::gspo ? algo::gspo_loss : algo::gmpo_loss;
      return loss(logprob, old, advantage, mask, response, responses, clip);
    }
  }
  return {};
}

double masked_sum(const at::Tensor& x, const at::Tensor& mask) {
  return x.masked_select(mask).to(at::kDouble).sum().item<double>();
}

}  // namespace

PolicyObjective policy_objective(const Attributes& settings) {
  PolicyObjective objective;
  objective.loss = loss_kind(text_at(settings, "loss"));
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

bool chooses_tokens(const PolicyObjective& objective) {
  return objective.loss == PolicyLossKind::clip_cov || objective.loss == PolicyLossKind::kl_cov;
}

bool moves_without_advantage(const PolicyObjective& objective) {
  return objective.kl > 0 || objective.entropy > 0 || objective.loss == PolicyLossKind::kl_cov;
}

std::vector<std::uint8_t> chosen_tokens(const PolicyObjective& objective, std::span<const float> logprob,
                                        std::span<const float> old_logprob, std::span<const float> advantage,
                                        std::span<const std::uint8_t> mask, std::span<const std::int64_t> rank) {
  const at::Tensor l = floats_of(logprob), a = floats_of(advantage), m = bits(mask);
  const at::Tensor chosen =
      objective.loss == PolicyLossKind::kl_cov
          ? algo::kl_cov_choice(l, a, m)
          : algo::clip_cov_choice(l, floats_of(old_logprob), a, m, longs_of(rank), objective.clip);
  const bool* data = chosen.const_data_ptr<bool>();
  return {data, data + chosen.numel()};
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
  const at::Tensor mask = weight != 0;
  const algo::PolicyLoss policy = loss_of(objective, logprob, mask, tokens);
  PolicySums sums;
  at::Tensor total =
      algo::weighted_sum(policy.loss, tokens.correction.empty() ? weight : weight * borrow(tokens.correction));
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
