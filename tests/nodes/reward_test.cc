// Does the judge of exact answers agree with verdicts made by hand, and does failure never become 0?
#include "nodes/reward/reward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <span>
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

RewardVerdict verdict_on(Reward& reward, const RewardRequest& request) {
  return reward.judge(std::span(&request, 1), {}).verdicts.at(0);
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
  std::unique_ptr<Reward> reward = make_reward(declaration("builtin", "exact_answer"), {});
  for (const Case& c : cases) {
    const RewardVerdict verdict = verdict_on(*reward, {"347+586=", c.response, "933", c.ended, {}});
    EXPECT_TRUE(verdict.ok()) << c.response;
    EXPECT_EQ(verdict.value, c.value) << c.response << (c.ended ? "" : " (cut off)");
  }
}

TEST(ExactAnswer, AMissingAnswerIsAnErrorAndNotZero) {
  std::unique_ptr<Reward> reward = make_reward(declaration("builtin", "exact_answer"), {});
  for (bool ended : {true, false}) {
    const RewardVerdict verdict = verdict_on(*reward, {"347+586=", "933", "", ended, {}});
    EXPECT_EQ(verdict.kind, VerdictKind::error);
    EXPECT_THAT(verdict.error, HasSubstr("answer"));
  }
}

TEST(MakeReward, NamesWhatItDoesNotHave) {
  for (const PlanReward& unknown : {declaration("builtin", "exact_anwser"), declaration("http", "https://judge")}) {
    try {
      make_reward(unknown, {});
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("reward `exact`"));
      EXPECT_THAT(error.what(), HasSubstr(unknown.argument));
    }
  }
}

// Gives `verdict` from the `good`th call on, and before it none.
struct Fixed final : FunctionReward {
  explicit Fixed(RewardVerdict v, int g = 1) : fixed(std::move(v)), good(g) {}
  RewardVerdict verdict(const RewardRequest&) const override { return ++calls < good ? no_verdict("not yet") : fixed; }
  RewardVerdict fixed;
  int good;
  mutable int calls = 0;
};

TEST(FunctionReward, OnlyFiniteValuesAreVerdicts) {
  Fixed half(verdict_of(-0.5));
  EXPECT_EQ(verdict_on(half, {}).value, -0.5);
  // The last is finite as f64 but not as the f32 that rewards are kept in.
  for (double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e39}) {
    Fixed judge(verdict_of(value));
    const RewardVerdict verdict = verdict_on(judge, {});
    EXPECT_EQ(verdict.kind, VerdictKind::error) << value;
    EXPECT_THAT(verdict.error, HasSubstr("is not finite in f32"));
  }
}

TEST(FunctionReward, TriesAgainAsOftenAsItMay) {
  const RewardRequest request;
  for (int good : {3, 4}) {
    Fixed judge(verdict_of(1), good);
    Judging how;
    how.retry = 2;
    const Judgement judgement = judge.judge(std::span(&request, 1), how);
    EXPECT_EQ(judgement.verdicts[0].ok(), good == 3);
    EXPECT_EQ(judge.calls, 3);
    EXPECT_EQ(judgement.errors, good == 3 ? 2 : 3);
  }
}

TEST(ValuesOf, AFailureNamesTheResponseAndIsNoValue) {
  const RewardRequest requests[] = {{"p", "r", "a", true, {}}, {"the prompt", "the response", "a", true, {}}};
  Judgement judgement;
  judgement.verdicts = {verdict_of(0.5), {VerdictKind::timeout, 0, "no verdict today"}};
  try {
    values_of(judgement, requests);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "response 1: timeout: no verdict today; the prompt was `the prompt`, the response `the response`");
  }
  judgement.verdicts[1] = verdict_of(2);
  EXPECT_EQ(values_of(judgement, requests), (std::vector<double>{0.5, 2}));
}

}  // namespace
}  // namespace rlflow
