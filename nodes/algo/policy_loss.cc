// How a policy is charged for a token.
#include "nodes/algo/policy_loss.h"

#include <ATen/ATen.h>

namespace rlflow::algo {
namespace {

constexpr double kLargestLogRatio = 20;
constexpr double kLargestSequenceLogRatio = 10;

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
  const at::Tensor d = at::clamp(logprob - old_logprob, -kLargestLogRatio, kLargestLogRatio);
  PolicyLoss result = clipped_loss(at::exp(d), advantage, clip);
  result.approx_kl = -d.detach();
  return result;
}

PolicyLoss gspo_loss(const at::Tensor& logprob, const at::Tensor& old_logprob, const at::Tensor& advantage,
                     const at::Tensor& mask, const at::Tensor& response, std::int64_t responses, const PpoClip& clip) {
  const at::Tensor d = (logprob - old_logprob).detach();
  const at::Tensor m = mask.to(d.scalar_type());
  const at::Tensor zeros = at::zeros({responses}, d.options());
  const at::Tensor length = zeros.index_add(0, response, m).clamp_min(1);
  const at::Tensor sum = zeros.index_add(0, response, at::where(mask, d, at::zeros_like(d)));
  const at::Tensor mean = (sum / length).index_select(0, response);
  const at::Tensor log_ratio = at::clamp_max(logprob - logprob.detach() + mean, kLargestSequenceLogRatio);
  PolicyLoss result = clipped_loss(at::exp(log_ratio), advantage, {clip.low, clip.high, std::nullopt});
  result.approx_kl = -d;
  return result;
}

}  // namespace rlflow::algo
