// Do the built-in judges agree with verdicts made by hand, and does failure never become 0?
#include "nodes/reward/reward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <stdexcept>

#include "nodes/reward/math_exact.h"

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

// The answer is 72.
TEST(MathExact, JudgesByHand) {
  const std::pair<const char*, double> cases[] = {
      {"72", 1},
      {"72.", 1},
      {"72.0", 1},
      {"+72", 1},
      {"072.00", 1},
      {"so it is 72 in all", 1},
      {"3 and 4 make 7, then 72!", 1},
      {"#### 72", 1},
      {"12 #### 72 apples, not 9", 1},  // the first number after the mark
      {"#### 9\n#### 72", 1},           // the last mark
      {"so \\boxed{72} is 9", 1},
      {"\\boxed{\\text{it is } 72}", 1},
      {"\\boxed{9} and \\boxed{72.0}", 1},
      {"$72", 1},
      {"80-72", 1},  // a minus between two numbers is none of 72's
      {"720", 0},
      {"7.2", 0},
      {"-72", 0},
      {"-$72", 0},
      {"72 or 73", 0},
      {"72 ####", 0},
      {"\\boxed{none} 72", 0},
      {"\\boxed{72", 0},  // never closed
      {"seventy-two", 0},
      {"", 0},
  };
  std::unique_ptr<Reward> reward = make_reward(declaration("builtin", "math_exact"), {});
  for (const auto& [response, value] : cases) {
    EXPECT_EQ(verdict_on(*reward, {"", response, "Half of 144 is 72. #### 72", true, {}}).value, value) << response;
    EXPECT_EQ(verdict_on(*reward, {"", response, "72.0", false, {}}).value, 0) << response << " (cut off)";
  }
  EXPECT_EQ(verdict_on(*reward, {"", "72", "no number", true, {}}).kind, VerdictKind::error);
  EXPECT_EQ(verdict_on(*reward, {"", "72", "", true, {}}).kind, VerdictKind::error);
}

TEST(MathExact, ANumberHasOneForm) {
  const std::pair<const char*, const char*> cases[] = {
      {"1,234,567", "1234567"},
      {"1,23", "23"},
      {"12,3456", "3456"},
      {"0.50", "0.5"},
      {".5", "0.5"},
      {"-0", "0"},
      {"-0.0", "0"},
      {"-00.10", "-0.1"},
      {"(-3)", "-3"},
      {"x=-3", "-3"},
      {"5-3", "3"},
      {"1/2", "2"},
      {"50%", "50"},
      {"1.5.", "1.5"},
      {"2.", "2"},
      {"123456789012345678901234567890.10", "123456789012345678901234567890.1"},
  };
  for (const auto& [text, form] : cases) EXPECT_EQ(final_number(text), form) << text;
  EXPECT_EQ(final_number("no number"), std::nullopt);
}

PlanReward with_settings(const std::string& argument, Attributes settings) {
  PlanReward reward = declaration("builtin", argument);
  reward.settings = std::move(settings);
  return reward;
}

double value_on(const PlanReward& declared, const std::string& response) {
  std::unique_ptr<Reward> reward = make_reward(declared, {});
  const RewardVerdict verdict = verdict_on(*reward, {"p", response, "42", true, {}});
  EXPECT_TRUE(verdict.ok()) << verdict.error;
  return verdict.value;
}

TEST(TextRewards, JudgeByHand) {
  const PlanReward regex = with_settings("regex", {{"pattern", std::string("\\d+ (?=apples)")}});
  EXPECT_EQ(value_on(regex, "I have 3 apples"), 1);
  EXPECT_EQ(value_on(regex, "I have apples"), 0);
  const PlanReward format = with_settings("format", {{"pattern", std::string("<[^>]*>\\p{L}+")}});
  EXPECT_EQ(value_on(format, "<think>\xc3\xa9t\xc3\xa9"), 1);
  EXPECT_EQ(value_on(format, "<think>yes."), 0);
  EXPECT_EQ(value_on(format, "a<think>yes"), 0);
  EXPECT_EQ(value_on(format, "<think>yes\xff"), 0);  // no UTF-8
  EXPECT_EQ(value_on(with_settings("format", {{"pattern", std::string("a|ab")}}), "ab"), 1);
  const PlanReward contains = with_settings("contains", {{"text", std::string("42")}});
  EXPECT_EQ(value_on(contains, "it is 420"), 1);
  EXPECT_EQ(value_on(contains, "it is 4 2"), 0);
  EXPECT_EQ(value_on(with_settings("contains", {}), "the answer 42"), 1);
  const PlanReward length = with_settings("length", {{"min", std::int64_t{2}}, {"max", std::int64_t{3}}});
  const std::pair<const char*, double> lengths[] = {
      {"", 0}, {"a", 0}, {"ab", 1}, {"\xc3\xa9\xc3\xa9\xc3\xa9", 1}, {"abcd", 0}};
  for (const auto& [response, value] : lengths) EXPECT_EQ(value_on(length, response), value) << response;
}

TEST(TextRewards, WhatCannotBeJudgedIsAnErrorAndNotZero) {
  std::unique_ptr<Reward> reward = make_reward(with_settings("contains", {}), {});
  EXPECT_EQ(verdict_on(*reward, {"p", "r", "", true, {}}).kind, VerdictKind::error);
  // Exponential for a backtracking matcher.
  reward = make_reward(with_settings("regex", {{"pattern", std::string("^(a|aa)+$")}}), {});
  const std::string response = std::string(60, 'a') + "b";
  const RewardVerdict verdict = verdict_on(*reward, {"p", response, "", true, {}});
  EXPECT_EQ(verdict.kind, VerdictKind::error);
  EXPECT_THAT(verdict.error, HasSubstr("too many steps"));
}

TEST(TextRewards, WhatCanJudgeNothingIsRefused) {
  const std::pair<PlanReward, const char*> cases[] = {
      {with_settings("regex", {{"pattern", std::string("(a")}}),
       "reward `exact`: the pattern `(a` is not one, at byte 2"},
      {with_settings("format", {{"pattern", std::string("\xff")}}), "is not one, at byte 0"},
      {with_settings("length", {{"min", std::int64_t{4}}, {"max", std::int64_t{3}}}), "no length is at least 4"},
  };
  for (const auto& [declared, says] : cases) {
    try {
      make_reward(declared, {});
      ADD_FAILURE() << says;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
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
