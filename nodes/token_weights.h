// What each token of a minibatch weighs in the loss.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nodes/algo/aggregate.h"
#include "runtime/contract/attributes.h"

namespace rlflow {

algo::Aggregate aggregate_of(const Attributes& settings);

struct TokenWeights {
  std::vector<float> values;  // one for each token of the whole batch; 0 outside the minibatch and under the mask
  double tokens = 0;          // T and S of the minibatch
  double sequences = 0;
};

// Sequence i of the batch is tokens [offsets[i], offsets[i+1]); `selected` are those of the minibatch. `max_new` is
// used by seq_mean_token_sum_norm alone.
TokenWeights token_weights(algo::Aggregate aggregate, std::span<const std::int64_t> offsets,
                           std::span<const std::uint8_t> mask, std::span<const std::int64_t> selected,
                           std::int64_t max_new);

}  // namespace rlflow
