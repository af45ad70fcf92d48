// Does the judge give 1 to right answers alone, and does a failed judgement never become a 0?
#include "nodes/reward/reward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rlflow {
namespace {

std::unique_ptr<Reward> exact_answer() {
  PlanReward declaration;
  declaration.name = "exact";
  declaration.source = "builtin";
  declaration.argument = "exact_answer";
  return make_reward(declaration);
}

TEST(ExactAnswer, Examples) {
  struct Case {
    const char* response;
    bool ended;
    double value;
  };
  const Case cases[] = {
      {"933", true, 1},
      {"933", false, 0},  // cut off
      {"<7+6=13 4+8+1=13 3+5+1=9>933", true, 1},
      {"<7+6=13 4+8+1=13 3+5+1=9>934", true, 0},
      {"<7+6=13>1>933", true, 1},  // the last `>` counts
      {"<933", true, 0},           // working out that never ends
      {"<933>", true, 0},
      {"1>933", true, 0},  // does not begin with `<`: all of it counts
      {" 933", true, 0},
      {"0933", true, 0},
      {"", true, 0},
  };
  const std::unique_ptr<Reward> reward = exact_answer();
  for (const Case& c : cases) {
    const RewardVerdict verdict = reward->judge({"347+586=", c.response, "933", c.ended});
    EXPECT_TRUE(verdict.ok) << c.response;
    EXPECT_EQ(verdict.value, c.value) << c.response;
  }
}

TEST(ExactAnswer, DataWithoutAnswersIsAnError) {
  const RewardVerdict verdict = exact_answer()->judge({"2+2=", "4", "", true});
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.error, "the data gives no answer to compare with");
}

class FixedReward final : public Reward {
 public:
  explicit FixedReward(RewardVerdict verdict) : verdict_(std::move(verdict)) {}
  RewardVerdict judge(const RewardRequest&) const override { return verdict_; }

 private:
  RewardVerdict verdict_;
};

std::string failure(const RewardVerdict& verdict) {
  try {
    judged_value(FixedReward(verdict), {"2+2=", "4", "4", true});
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(JudgedValue, FailuresAreThrown) {
  EXPECT_EQ(judged_value(FixedReward({true, 0.25, {}}), {"2+2=", "4", "4", true}), 0.25);
  EXPECT_EQ(failure({false, 0, "the worker died"}), "the worker died; the prompt was `2+2=`, the response `4`");
  EXPECT_EQ(failure({true, std::nan(""), {}}), "the reward is nan; the prompt was `2+2=`, the response `4`");
  EXPECT_NE(failure({true, std::numeric_limits<double>::infinity(), {}}), "");
}

TEST(MakeReward, WhatHasNoCodeIsNamed) {
  PlanReward declaration;
  declaration.name = "judge";
  declaration.source = "exec";
  declaration.argument = "python3 reward.py";
  try {
    make_reward(declaration);
    FAIL() << "made";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "reward `judge`: this build has no code for exec(\"python3 reward.py\")");
  }
}

}  // namespace
}  // namespace rlflow
