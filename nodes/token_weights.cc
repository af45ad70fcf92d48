// How much does each token weigh in the mean of a batch?
#include "nodes/token_weights.h"

#include <ATen/ATen.h>

#include "runtime/contract/check.h"

namespace rlflow {

algo::Aggregate aggregate_of(const Attributes& settings) {
  const std::string name = text_at(settings, "aggregate");
  const std::optional<algo::Aggregate> aggregate = algo::aggregate_from_name(name);
  RLFLOW_CHECK(aggregate, name);
  return *aggregate;
}

TokenWeights token_weights(algo::Aggregate aggregate, std::span<const std::int64_t> offsets,
                           std::span<const std::uint8_t> mask, std::span<const std::int64_t> selected,
                           std::int64_t max_new) {
  const std::int64_t tokens = offsets.back();
  at::Tensor chosen = at::zeros({tokens}, at::kBool), owner = at::zeros({tokens}, at::kLong);
  auto* chosen_data = chosen.data_ptr<bool>();
  auto* owner_data = owner.data_ptr<std::int64_t>();
  TokenWeights result;
  for (std::int64_t i : selected) {
    for (std::int64_t t = offsets[static_cast<std::size_t>(i)]; t < offsets[static_cast<std::size_t>(i) + 1]; ++t) {
      chosen_data[t] = mask[static_cast<std::size_t>(t)] != 0;
      owner_data[t] = i;
      result.tokens += chosen_data[t] ? 1 : 0;
    }
  }
  result.sequences = static_cast<double>(selected.size());
  const at::Tensor weights =
      algo::token_weights(aggregate, chosen, owner, static_cast<std::int64_t>(offsets.size()) - 1,
                          {result.tokens, result.sequences, static_cast<double>(max_new)});
  result.values.assign(weights.data_ptr<float>(), weights.data_ptr<float>() + tokens);
  return result;
}

}  // namespace rlflow
