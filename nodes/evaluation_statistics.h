// What n responses to each of P prompts say of a policy: mean@n, best@k, maj@k, and how sure that is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rlflow {

// Mean over prompts, and half the width of its 95 % confidence interval: 1.96 standard errors over prompts (unbiased
// deviation ÷ √P). It says nothing where P < 2, and is 0 there, as it is where all prompts have the same value.
struct Estimate {
  double mean = 0;
  double ci95 = 0;
};
Estimate over_prompts(std::span<const double> of_each_prompt);

// Expected best of k of these n values, drawn without replacement: Σ x₍ᵢ₎·C(i−1, k−1)/C(n, k) over the ascending
// values. For rewards 0 and 1 it is the unbiased pass@k of Chen et al. 2021 (arXiv 2107.03374), 1 − C(n−c, k)/C(n, k).
// 1 <= k <= n.
double best_of(std::span<const double> values, std::int64_t k);

// Mean reward of the most frequent answer among k, over the ⌊n/k⌋ blocks of k consecutive responses. Of equally
// frequent answers the one that came first wins; its reward is that of the first response with it.
double majority_of(std::span<const double> values, std::span<const std::string> answers, std::int64_t k);

// For rewards and answers [P·n], prompt by prompt: ("accuracy", mean@n) and its "/ci95"; with n > 1 also "best@k" and
// "maj@k" for k = 2, 4, 8, … and n, each with its "/ci95".
std::vector<std::pair<std::string, double>> evaluation_statistics(std::span<const double> rewards,
                                                                  std::span<const std::string> answers, std::int64_t n);

}  // namespace rlflow
