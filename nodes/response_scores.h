// One score a response, from rewards of responses or of tokens.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "nodes/algo/group_advantage.h"
#include "nodes/batch_tensors.h"
#include "nodes/batches.h"
#include "runtime/contract/node.h"

namespace rlflow {

// Rewards of tokens are added up. Throws NumericsError naming the response whose score is not finite.
inline std::vector<float> scores_of(const Numbers& reward) {
  std::vector<float> scores = reward.data;
  if (reward.per_token) {
    const BatchDescriptor& batch = *reward.batch;
    scores.assign(batch.size(), 0);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      double sum = 0;
      for (std::int64_t t = batch.offsets[i]; t < batch.offsets[i + 1]; ++t)
        sum += reward.data[static_cast<std::size_t>(t)];
      scores[i] = static_cast<float>(sum);
    }
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i]))
      throw NumericsError("the reward of response " + std::to_string(i) + " is not finite");
  }
  return scores;
}

// Prompts of the chosen responses are numbered from 0 without gaps, whatever the batch calls them.
inline algo::Groups groups_of(const BatchDescriptor& batch, const std::vector<std::size_t>& chosen) {
  algo::Groups groups{at::empty({static_cast<std::int64_t>(chosen.size())}, at::kLong), 0};
  auto* index = groups.index.data_ptr<std::int64_t>();
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    if (k == 0 || batch.group[chosen[k]] != batch.group[chosen[k - 1]]) ++groups.count;
    index[k] = groups.count - 1;
  }
  return groups;
}
inline algo::Groups groups_of(const BatchDescriptor& batch) {
  std::vector<std::size_t> all(batch.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return groups_of(batch, all);
}

// `weights` of a node that joins `count` inputs; empty: 1 each.
inline std::vector<double> weights_of(const PlanNode& node, std::size_t count) {
  std::vector<double> weights;
  if (!has(node.settings, "weights")) return std::vector<double>(count, 1.0);
  for (const Value& weight : *value_at(node.settings, "weights").get<List>())
    weights.push_back(real_at({{"weight", weight}}, "weight"));
  if (weights.size() == count) return weights;
  throw std::runtime_error("node `" + node.name + "` has " + std::to_string(weights.size()) + " weights for " +
                           std::to_string(count) + " rewards");
}

}  // namespace rlflow
