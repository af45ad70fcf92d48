// What a sample of older weights counts in a policy update.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nodes/algo/off_policy.h"
#include "nodes/batches.h"
#include "runtime/contract/attributes.h"

namespace rlflow {

struct OffPolicy {
  enum class Kind { truncate, truncate_sequence, mask, reject } kind = Kind::truncate;
  double low = 0, high = 0;  // mask: bounds of the ratio; truncate…: high; reject: high is the largest distance
  algo::Distance distance = algo::Distance::k1;
};
// `off_policy` of an update; nullopt without one.
std::optional<OffPolicy> off_policy_of(const Attributes& settings);

struct OffPolicyWeights {
  std::vector<float> values;              // one a token
  std::map<std::string, double> metrics;  // off_policy_kl, …_k3, …_chi2, …_ess
};
// From log-probabilities f32[N] before this step and as sampled.
OffPolicyWeights off_policy_weights(const OffPolicy& correction, const BatchDescriptor& batch,
                                    std::span<const float> old_logprob, std::span<const float> sampled);

}  // namespace rlflow
