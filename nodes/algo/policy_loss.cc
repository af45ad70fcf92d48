// How a policy is charged for a token.
#include "nodes/algo/policy_loss.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace rlflow::algo {
namespace {

constexpr double kLargestLogRatio = 20;
constexpr double kLargestSequenceLogRatio = 10;
constexpr double kLargestWeight = 20;                   // of dppo
constexpr double kGatePositive = 1, kGateOther = 1.05;  // τ of sapo
constexpr double kCovarianceShare = 2e-4, kLeastCovariance = 1, kMostCovariance = 5;

at::Tensor log_ratio_of(const at::Tensor& logprob, const at::Tensor& old_logprob) {
  return at::clamp(logprob - old_logprob, -kLargestLogRatio, kLargestLogRatio);
}

// A loss under which nothing counts as clipped.
PolicyLoss unclipped(at::Tensor loss, const at::Tensor& log_ratio) {
  PolicyLoss result;
  result.loss = std::move(loss);
  result.clipped = result.clipped_lower = at::zeros_like(log_ratio, at::kBool);
  result.approx_kl = -log_ratio.detach();
  return result;
}

// Mean of x over the masked tokens of each response, one value a token.
at::Tensor mean_of_response(const at::Tensor& x, const at::Tensor& mask, const at::Tensor& response,
                            std::int64_t responses) {
  const at::Tensor zeros = at::zeros({responses}, x.options());
  const at::Tensor length = zeros.index_add(0, response, mask.to(x.scalar_type())).clamp_min(1);
  const at::Tensor sum = zeros.index_add(0, response, at::where(mask, x, at::zeros_like(x)));
  return (sum / length).index_select(0, response);
}

at::Tensor covariance(const at::Tensor& logprob, const at::Tensor& advantage, const at::Tensor& mask) {
  const at::Tensor l = logprob.detach().to(at::kDouble), a = advantage.to(at::kDouble);
  const at::Tensor product = (a - a.masked_select(mask).mean()) * (l - l.masked_select(mask).mean());
  return at::where(mask, product, at::full_like(product, -std::numeric_limits<double>::infinity()));
}

std::int64_t chosen_count(const at::Tensor& mask) {
  const auto tokens = mask.sum().item<std::int64_t>();
  return std::min(tokens,
                  std::max<std::int64_t>(1, static_cast<std::int64_t>(kCovarianceShare * static_cast<double>(tokens))));
}

// L = max(−Aρ, −A·clip(ρ)), bounded by −A·c where A < 0.
PolicyLoss clipped_loss(const at::Tensor& ratio, const at::Tensor& advantage, const PpoClip& clip) {
  const at::Tensor l1 = -advantage * ratio;
  const at::Tensor l2 = -advantage * at::clamp(ratio, 1 - clip.low, 1 + clip.high);
  PolicyLoss result;
  result.loss = at::maximum(l1, l2);
  result.clipped = l2 > l1;
  result.clipped_lower = at::zeros_like(result.clipped);
  if (clip.dual) {
    const at::Tensor bound = -advantage * *clip.dual;
    result.clipped_lower = at::logical_and(result.loss > bound, advantage < 0);
    result.loss = at::where(advantage < 0, at::minimum(result.loss, bound), result.loss);
  }
  return result;
}

}  // namespace

PolicyLoss ppo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                    const PpoClip& clip) {
  const at::Tensor d = log_ratio_of(logprob, old_logprob);
  PolicyLoss result = clipped_loss(at::exp(d), advantage, clip);
  result.approx_kl = -d.detach();
  return result;
}

PolicyLoss gspo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                     const at::Tensor& mask, const at::Tensor& response, std::int64_t responses, const PpoClip& clip) {
  const at::Tensor d = (logprob - old_logprob).detach();
  const at::Tensor mean = mean_of_response(d, mask, response, responses);
  const at::Tensor log_ratio = at::clamp_max(logprob - logprob.detach() + mean, kLargestSequenceLogRatio);
  PolicyLoss result = clipped_loss(at::exp(log_ratio), advantage, {clip.low, clip.high, std::nullopt});
  result.approx_kl = -d;
  return result;
}

PolicyLoss cispo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                      const PpoClip& clip) {
  const at::Tensor d = log_ratio_of(logprob, old_logprob).detach(), ratio = at::exp(d);
  const at::Tensor bounded = at::clamp(ratio, 1 - clip.low, 1 + clip.high);
  PolicyLoss result = unclipped(-bounded * advantage * logprob, d);
  result.clipped = ratio != bounded;
  return result;
}

PolicyLoss sapo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage) {
  const at::Tensor d = log_ratio_of(logprob, old_logprob);
  const at::Tensor tau =
      at::where(advantage > 0, at::full_like(advantage, kGatePositive), at::full_like(advantage, kGateOther));
  return unclipped(-advantage * (4 / tau) * at::sigmoid(tau * (at::exp(d) - 1)), d);
}

PolicyLoss gmpo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                     const at::Tensor& mask, const at::Tensor& response, std::int64_t responses, const PpoClip& clip) {
  const at::Tensor d = log_ratio_of(logprob, old_logprob);
  const at::Tensor bounded = at::clamp(d, -clip.low, clip.high);
  // Where A > 0 the smaller of the two counts, where A < 0 the larger: what A rewards is bounded, the rest is not.
  const at::Tensor counted = at::where(advantage > 0, at::minimum(d, bounded), at::maximum(d, bounded));
  const at::Tensor ratio = at::exp(mean_of_response(counted, mask, response, responses));
  PolicyLoss result = unclipped(-advantage * ratio, d);
  result.clipped = at::logical_and(counted != d, advantage != 0);
  return result;
}

PolicyLoss reinforce_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage) {
  return unclipped(-advantage * logprob, log_ratio_of(logprob, old_logprob));
}

PolicyLoss dppo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                     Divergence divergence, const PpoClip& clip) {
  const at::Tensor d = log_ratio_of(logprob, old_logprob).detach();
  const at::Tensor p = at::exp(logprob.detach()), old = at::exp(old_logprob);
  at::Tensor up, down;  // valid where A > 0, and elsewhere
  if (divergence == Divergence::total_variation) {
    up = p - old <= clip.high;
    down = p - old >= -clip.low;
  } else {
    constexpr double kTiny = 1e-8;  // of the probability of any other token
    const at::Tensor kl = -old * d + (1 - old) * at::log((1 - old + kTiny) / (1 - p + kTiny));
    up = at::logical_or(kl <= clip.high, p <= old);
    down = at::logical_or(kl <= clip.low, p >= old);
  }
  const at::Tensor valid = at::where(advantage > 0, up, down);
  const at::Tensor weight = at::where(valid, at::clamp_max(at::exp(d), kLargestWeight), at::zeros_like(d));
  PolicyLoss result = unclipped(-advantage * weight * logprob, d);
  result.clipped = at::logical_not(valid);
  return result;
}

at::Tensor clip_cov_choice(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                           const at::Tensor& mask, const at::Tensor& rank, const PpoClip& clip) {
  const at::Tensor cov = covariance(logprob, advantage, mask);
  const at::Tensor clipped = ppo_loss(logprob.detach(), old_logprob, advantage, clip).clipped;
  const at::Tensor open = at::logical_and(at::logical_and(cov > kLeastCovariance, cov < kMostCovariance),
                                          at::logical_and(mask, at::logical_not(clipped)));
  const at::Tensor order = at::argsort(at::where(open, rank, at::full_like(rank, rank.numel())));
  const std::int64_t count = std::min(chosen_count(mask), open.sum().item<std::int64_t>());
  return at::zeros_like(mask).index_fill(0, order.slice(0, 0, count), true);
}

at::Tensor kl_cov_choice(const at::Tensor& logprob, const at::Tensor& advantage, const at::Tensor& mask) {
  const at::Tensor order = at::argsort(covariance(logprob, advantage, mask), /*stable=*/true, 0, /*descending=*/true);
  return at::zeros_like(mask).index_fill(0, order.slice(0, 0, chosen_count(mask)), true);
}

PolicyLoss clip_cov_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                         const at::Tensor& chosen, const PpoClip& clip) {
  PolicyLoss result = ppo_loss(logprob, old_logprob, advantage, {clip.low, clip.high, std::nullopt});
  result.loss = at::where(chosen, at::zeros_like(result.loss), result.loss);
  result.clipped = at::logical_or(result.clipped, chosen);
  return result;
}

PolicyLoss kl_cov_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                       const at::Tensor& chosen) {
  const at::Tensor d = log_ratio_of(logprob, old_logprob);
  const at::Tensor plain = -advantage * at::exp(d);
  return unclipped(at::where(chosen, plain + at::abs(d), plain), d);
}

}  // namespace rlflow::algo
