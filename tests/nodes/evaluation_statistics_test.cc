// Is what an evaluation says of n responses right?
#include "nodes/evaluation_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace rlflow {
namespace {

TEST(OverPrompts, MeanAndStandardError) {
  const std::vector<double> values = {1, 0, 0, 1};
  const Estimate estimate = over_prompts(values);
  EXPECT_DOUBLE_EQ(estimate.mean, 0.5);
  EXPECT_NEAR(estimate.ci95, 1.96 * std::sqrt((4 * 0.25 / 3) / 4), 1e-12);
  EXPECT_EQ(over_prompts({}).mean, 0);
  EXPECT_EQ(over_prompts(std::vector<double>{0.7}).ci95, 0);
}

// Every subset of k, one by one.
double best_by_counting(const std::vector<double>& values, std::int64_t k) {
  double sum = 0, subsets = 0;
  for (unsigned set = 0; set < (1u << values.size()); ++set) {
    if (__builtin_popcount(set) != k) continue;
    double best = -1e9;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (set >> i & 1) best = std::max(best, values[i]);
    }
    sum += best;
    ++subsets;
  }
  return sum / subsets;
}

TEST(BestOf, IsTheMeanOverAllSubsets) {
  const std::vector<double> values = {0.3, -1, 2, 0.3, 0, 5, 5};
  for (std::int64_t k = 1; k <= 7; ++k) EXPECT_NEAR(best_of(values, k), best_by_counting(values, k), 1e-12) << k;
}

TEST(BestOf, OfRightAndWrongIsPassAtK) {
  // 1 - C(7, 4)/C(10, 4) = 1 - 35/210
  EXPECT_NEAR(best_of(std::vector<double>{1, 1, 1, 0, 0, 0, 0, 0, 0, 0}, 4), 1 - 35.0 / 210, 1e-12);
}

TEST(MajorityOf, TheMostFrequentAnswerWinsAndTheFirstOfEquals) {
  const std::vector<double> values = {0, 1, 1, 0};
  const std::vector<std::string> answers = {"7", "8", "8", "9"};
  EXPECT_EQ(majority_of(values, answers, 4), 1);
  EXPECT_EQ(majority_of(values, answers, 2), 0.5);  // "7" before "8" loses the point, "8" before "9" wins it
  EXPECT_EQ(majority_of(values, answers, 3), 1);    // one block of three; the fourth response is left out
  EXPECT_EQ(majority_of(values, answers, 1), 0.5);
}

TEST(EvaluationStatistics, OfTwoPromptsWithThreeResponses) {
  const std::vector<double> rewards = {1, 0, 0, 1, 1, 0};
  const std::vector<std::string> answers = {"a", "b", "b", "c", "c", "d"};
  std::map<std::string, double> by_name;
  for (const auto& [name, value] : evaluation_statistics(rewards, answers, 3)) by_name[name] = value;
  EXPECT_DOUBLE_EQ(by_name.at("accuracy"), 0.5);
  EXPECT_NEAR(by_name.at("best@2"), (2.0 / 3 + 1) / 2, 1e-12);
  EXPECT_NEAR(by_name.at("best@3"), 1, 1e-12);
  EXPECT_EQ(by_name.at("maj@3"), 0.5);
  EXPECT_EQ(by_name.size(), 10u);  // accuracy, best@2, maj@2, best@3, maj@3 and their intervals
  EXPECT_EQ(evaluation_statistics(std::vector<double>{1, 0}, std::vector<std::string>{"a", "b"}, 1).size(), 2u);
}

}  // namespace
}  // namespace rlflow
