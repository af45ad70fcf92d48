// What a sample of older weights counts in a policy update.
#include "nodes/off_policy_weights.h"

#include <ATen/ATen.h>

#include "nodes/batch_tensors.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr double kLargestLogRatio = 20;

at::Tensor weights_of(const OffPolicy& correction, const algo::TokenRatios& ratios) {
  switch (correction.kind) {
    case OffPolicy::Kind::truncate: return algo::truncated(ratios, correction.high);
    case OffPolicy::Kind::truncate_sequence: return algo::truncated_by_response(ratios, correction.high);
    case OffPolicy::Kind::mask: return algo::masked_outside(ratios, correction.low, correction.high);
    case OffPolicy::Kind::reject: return algo::rejected_beyond(ratios, correction.distance, correction.high);
  }
  return {};
}

algo::Distance distance_named(const std::string& name) {
  if (name == "k1") return algo::Distance::k1;
  if (name == "k2") return algo::Distance::k2;
  RLFLOW_CHECK(name == "k3", name);
  return algo::Distance::k3;
}

}  // namespace

std::optional<OffPolicy> off_policy_of(const Attributes& settings) {
  if (!has(settings, "off_policy")) return std::nullopt;
  const CallValue& call = *value_at(settings, "off_policy").get<CallValue>();
  OffPolicy correction;
  if (call.name == "truncate" || call.name == "truncate_sequence") {
    const bool whole = call.name == "truncate_sequence";
    correction.kind = whole ? OffPolicy::Kind::truncate_sequence : OffPolicy::Kind::truncate;
    correction.high = real_at(call.named, "c");
  } else if (call.name == "mask") {
    correction.kind = OffPolicy::Kind::mask;
    correction.low = real_at(call.named, "lo");
    correction.high = real_at(call.named, "hi");
  } else {
    RLFLOW_CHECK(call.name == "reject", call.name);
    correction.kind = OffPolicy::Kind::reject;
    correction.distance = distance_named(text_at(call.named, "kind"));
    correction.high = real_at(call.named, "bound");
  }
  return correction;
}

OffPolicyWeights off_policy_weights(const OffPolicy& correction, const BatchDescriptor& batch,
                                    std::span<const float> old_logprob, std::span<const float> sampled) {
  at::Tensor response = at::empty({batch.tokens()}, at::kLong);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    std::fill(response.data_ptr<std::int64_t>() + batch.offsets[i],
              response.data_ptr<std::int64_t>() + batch.offsets[i + 1], static_cast<std::int64_t>(i));
  }
  const algo::TokenRatios ratios{
      at::clamp(floats_of(old_logprob) - floats_of(sampled), -kLargestLogRatio, kLargestLogRatio), mask_of(batch),
      response, static_cast<std::int64_t>(batch.size())};
  const at::Tensor weights = weights_of(correction, ratios).to(at::kFloat).contiguous();
  const algo::OffPolicyMetrics metrics = algo::off_policy_metrics(ratios, weights);
  const float* data = weights.const_data_ptr<float>();
  return {{data, data + weights.numel()},
          {{"off_policy_kl", metrics.kl},
           {"off_policy_k3", metrics.k3},
           {"off_policy_chi2", metrics.chi2},
           {"off_policy_ess", metrics.ess}}};
}

}  // namespace rlflow
