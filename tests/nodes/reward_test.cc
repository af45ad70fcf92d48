// Does the judge of exact answers agree with verdicts made by hand, and does failure never become 0?
#include "nodes/reward/reward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace rlflow {
namespace {

using ::testing::HasSubstr;

PlanReward declaration(const std::string& source, const std::string& argument) {
  PlanReward reward;
  reward.name = "exact";
  reward.source = source;
  reward.argument = argument;
  return reward;
}

TEST(ExactAnswer, JudgesByHand) {
  struct Case {
    const char* response;
    bool ended;
    double value;
  };
  const Case cases[] = {
      {"933", true, 1},
      {"933", false, 0},  // cut off
      {"823", true, 0},
      {"", true, 0},
      {"0933", true, 0},
      {"933 ", true, 0},
      {"<7+6=13 4+8+1=13 3+5+1=9>933", true, 1},
      {"<7+6=13 4+8+1=13 3+5+1=9>933", false, 0},
      {"<nonsense>933", true, 1},  // only what follows counts
      {"<1>2>933", true, 1},       // after the last `>`
      {"<933>", true, 0},
      {"<933", true, 0},  // never closed
      {"<", true, 0},
      {"5>933", true, 0},  // does not begin with `<`: all of it counts
  };
  std::unique_ptr<Reward> reward = make_reward(declaration("builtin", "exact_answer"));
  for (const Case& c : cases) {
    const RewardVerdict verdict = reward->judge({"347+586=", c.response, "933", c.ended});
    EXPECT_TRUE(verdict.ok) << c.response;
    EXPECT_EQ(verdict.value, c.value) << c.response << (c.ended ? "" : " (cut off)");
  }
}

TEST(ExactAnswer, AMissingAnswerIsAnErrorAndNotZero) {
  std::unique_ptr<Reward> reward = make_reward(declaration("builtin", "exact_answer"));
  for (bool ended : {true, false}) {
    const RewardVerdict verdict = reward->judge({"347+586=", "933", "", ended});
    EXPECT_FALSE(verdict.ok);
    EXPECT_THAT(verdict.error, HasSubstr("answer"));
  }
}

TEST(MakeReward, NamesWhatItDoesNotHave) {
  for (const PlanReward& unknown : {declaration("builtin", "exact_anwser"), declaration("exec", "python3 r.py")}) {
    try {
      make_reward(unknown);
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("reward `exact`"));
      EXPECT_THAT(error.what(), HasSubstr(unknown.argument));
    }
  }
}

struct Fixed final : Reward {
  explicit Fixed(RewardVerdict v) : verdict(std::move(v)) {}
  RewardVerdict judge(const RewardRequest&) const override { return verdict; }
  RewardVerdict verdict;
};

TEST(JudgedValue, OnlyFiniteValuesPass) {
  EXPECT_EQ(judged_value(Fixed({true, -0.5, {}}), {"p", "r", "a", true}), -0.5);
  // The last is finite as f64 but not as the f32 that rewards are kept in.
  for (double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e39}) {
    EXPECT_THROW(judged_value(Fixed({true, value, {}}), {"p", "r", "a", true}), std::runtime_error) << value;
  }
  try {
    judged_value(Fixed({false, 0, "no verdict today"}), {"the prompt", "the response", "a", true});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no verdict today"));
    EXPECT_THAT(error.what(), HasSubstr("the prompt"));
    EXPECT_THAT(error.what(), HasSubstr("the response"));
  }
}

}  // namespace
}  // namespace rlflow
