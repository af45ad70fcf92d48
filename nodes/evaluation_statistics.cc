// Means over prompts of what some responses to each of them reach together.
#include "nodes/evaluation_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/contract/check.h"

namespace rlflow {

Estimate over_prompts(std::span<const double> of_each_prompt) {
  const auto count = static_cast<double>(of_each_prompt.size());
  Estimate estimate;
  if (of_each_prompt.empty()) return estimate;
  for (double value : of_each_prompt) estimate.mean += value / count;
  if (of_each_prompt.size() < 2) return estimate;
  double squares = 0;
  for (double value : of_each_prompt) squares += (value - estimate.mean) * (value - estimate.mean);
  estimate.ci95 = 1.96 * std::sqrt(squares / (count - 1) / count);
  return estimate;
}

double best_of(std::span<const double> values, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(values.size());
  RLFLOW_CHECK(k >= 1 && k <= n, "best of " + std::to_string(k));
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  double weight = static_cast<double>(k) / static_cast<double>(n), best = 0;  // of the largest; C(n−1, k−1)/C(n, k)
  for (std::int64_t i = n; i >= k; --i) {
    best += weight * sorted[static_cast<std::size_t>(i - 1)];
    if (i > 1) weight *= static_cast<double>(i - k) / static_cast<double>(i - 1);
  }
  return best;
}

double majority_of(std::span<const double> values, std::span<const std::string> answers, std::int64_t k) {
  RLFLOW_CHECK(values.size() == answers.size() && k >= 1 && static_cast<std::size_t>(k) <= values.size(), "votes");
  const auto block = static_cast<std::size_t>(k);
  const std::size_t blocks = values.size() / block;
  double sum = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto votes = answers.subspan(b * block, block);
    std::size_t winner = 0;
    std::ptrdiff_t most = 0;
    for (std::size_t i = 0; i < block; ++i) {
      if (std::find(votes.begin(), votes.begin() + static_cast<std::ptrdiff_t>(i), votes[i]) !=
          votes.begin() + static_cast<std::ptrdiff_t>(i))
        continue;  // counted at its first response
      const std::ptrdiff_t count = std::count(votes.begin(), votes.end(), votes[i]);
      if (count > most) winner = i;
      most = std::max(most, count);
    }
    sum += values[b * block + winner];
  }
  return sum / static_cast<double>(blocks);
}

std::vector<std::pair<std::string, double>> evaluation_statistics(std::span<const double> rewards,
                                                                  std::span<const std::string> answers,
                                                                  std::int64_t n) {
  const auto samples = static_cast<std::size_t>(n);
  RLFLOW_CHECK(n >= 1 && rewards.size() % samples == 0 && answers.size() == rewards.size(), "rewards of an evaluation");
  std::vector<std::pair<std::string, double>> statistics;
  const auto add = [&](const std::string& name, const std::function<double(std::size_t first)>& of_prompt) {
    std::vector<double> values;
    for (std::size_t first = 0; first < rewards.size(); first += samples) values.push_back(of_prompt(first));
    const Estimate estimate = over_prompts(values);
    statistics.emplace_back(name, estimate.mean);
    statistics.emplace_back(name + "/ci95", estimate.ci95);
  };
  add("accuracy", [&](std::size_t first) { return over_prompts(rewards.subspan(first, samples)).mean; });
  for (std::int64_t k = 2; k <= n; k = k < n ? std::min(2 * k, n) : n + 1) {
    add("best@" + std::to_string(k), [&](std::size_t first) { return best_of(rewards.subspan(first, samples), k); });
    add("maj@" + std::to_string(k), [&](std::size_t first) {
      return majority_of(rewards.subspan(first, samples), answers.subspan(first, samples), k);
    });
  }
  return statistics;
}

}  // namespace rlflow
