// How much does a sample of another policy count?
#include "nodes/algo/off_policy.h"

#include <ATen/ATen.h>

namespace rlflow::algo {
namespace {

at::Tensor sum_of_response(const TokenRatios& r, const at::Tensor& x) {
  const at::Tensor zeros = at::zeros({r.responses}, x.options());
  return zeros.index_add(0, r.response, at::where(r.mask, x, at::zeros_like(x)));
}

at::Tensor distance_of(const at::Tensor& x, Distance distance) {
  switch (distance) {
    case Distance::k1: return -x;
    case Distance::k2: return 0.5 * x * x;
    case Distance::k3: return at::expm1(x) - x;
  }
  return {};
}

}  // namespace

at::Tensor truncated(const TokenRatios& r, double c) { return at::clamp_max(at::exp(r.log_ratio), c); }

at::Tensor truncated_by_response(const TokenRatios& r, double c) {
  return at::clamp_max(at::exp(sum_of_response(r, r.log_ratio)), c).index_select(0, r.response);
}

at::Tensor masked_outside(const TokenRatios& r, double lo, double hi) {
  const at::Tensor ratio = at::exp(r.log_ratio);
  return at::where(at::logical_and(ratio >= lo, ratio <= hi), ratio, at::zeros_like(ratio));
}

at::Tensor rejected_beyond(const TokenRatios& r, Distance distance, double bound) {
  const at::Tensor far = sum_of_response(r, distance_of(r.log_ratio, distance));
  const at::Tensor length = sum_of_response(r, at::ones_like(r.log_ratio)).clamp_min(1);
  return (far / length <= bound).to(at::kFloat).index_select(0, r.response);
}

OffPolicyMetrics off_policy_metrics(const TokenRatios& r, const at::Tensor& weights) {
  const at::Tensor x = r.log_ratio.masked_select(r.mask).to(at::kDouble);
  const at::Tensor w = weights.masked_select(r.mask).to(at::kDouble);
  if (x.numel() == 0) return {};
  const double squares = (w * w).sum().item<double>(), sum = w.sum().item<double>();
  return {distance_of(x, Distance::k1).mean().item<double>(), distance_of(x, Distance::k3).mean().item<double>(),
          at::expm1(2 * x).mean().item<double>(),
          squares > 0 ? sum * sum / (static_cast<double>(w.numel()) * squares) : 0};
}

}  // namespace rlflow::algo
