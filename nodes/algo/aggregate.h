// How token losses become one number: a weight for each token, so that the loss is their weighted sum.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace rlflow::algo {

enum class Aggregate { token_mean, token_sum, seq_mean_token_sum, seq_mean_token_mean, seq_mean_token_sum_norm };
std::optional<Aggregate> aggregate_from_name(std::string_view name);

// Counted once over the whole global minibatch, however it is cut into micro-batches and ranks.
struct Denominators {
  double tokens = 0;     // T = Σm
  double sequences = 0;  // S, empty responses included
  double max_new = 0;    // of the rollout; for seq_mean_token_sum_norm alone
};

// w f32[N] with loss = Σ_t w_t·L_t. `mask` bool[N]; `response` i64[N] says of which of the `responses` of this cut a
// token is; a response is never cut in two.
//   token_mean               m/T
//   token_sum                m
//   seq_mean_token_sum       m/S
//   seq_mean_token_mean      m/(S·|y_i|), |y_i| = Σ_i m
//   seq_mean_token_sum_norm  m/(S·max_new)
// A denominator of 0 (a minibatch without tokens) gives weights 0.
at::Tensor token_weights(Aggregate kind, const at::Tensor& mask, const at::Tensor& response, std::int64_t responses,
                         const Denominators& denominators);

// Σ_t w_t·L_t over tokens with w ≠ 0; loss f32[N] → f32[]
at::Tensor weighted_sum(const at::Tensor& loss, const at::Tensor& weights);

}  // namespace rlflow::algo
