// How each aggregation weighs a token.
#include "nodes/algo/aggregate.h"

#include <ATen/ATen.h>

namespace rlflow::algo {
namespace {

double inverse(double denominator) { return denominator > 0 ? 1 / denominator : 0; }

}  // namespace

std::optional<Aggregate> aggregate_from_name(std::string_view name) {
  if (name == "token_mean") return Aggregate::token_mean;
  if (name == "token_sum") return Aggregate::token_sum;
  if (name == "seq_mean_token_sum") return Aggregate::seq_mean_token_sum;
  if (name == "seq_mean_token_mean") return Aggregate::seq_mean_token_mean;
  if (name == "seq_mean_token_sum_norm") return Aggregate::seq_mean_token_sum_norm;
  return std::nullopt;
}

at::Tensor token_weights(Aggregate kind, const at::Tensor& mask, const at::Tensor& response, std::int64_t responses,
                         const Denominators& denominators) {
  const at::Tensor m = mask.to(at::kFloat);
  switch (kind) {
    case Aggregate::token_mean: return m * inverse(denominators.tokens);
    case Aggregate::token_sum: return m;
    case Aggregate::seq_mean_token_sum: return m * inverse(denominators.sequences);
    case Aggregate::seq_mean_token_mean: {
      const at::Tensor length = at::zeros({responses}, m.options()).index_add(0, response, m);
      return m / length.clamp_min(1).index_select(0, response) * inverse(denominators.sequences);
    }
    case Aggregate::seq_mean_token_sum_norm:
      return m * (inverse(denominators.sequences) * inverse(denominators.max_new));
  }
  return m;
}

at::Tensor weighted_sum(const at::Tensor& loss, const at::Tensor& weights) {
  return at::where(weights != 0, loss * weights, at::zeros_like(loss)).sum();
}

}  // namespace rlflow::algo
