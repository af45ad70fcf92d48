// Are sums drawn as the task says: lengths, splits, and the two styles of response?
#include "nodes/data/addition.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "nodes/data/order.h"

namespace rlflow {
namespace {

struct Operands {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};

Operands operands(const DataRow& row) {
  const std::size_t plus = row.prompt.find('+');
  return {std::stoull(row.prompt.substr(0, plus)), std::stoull(row.prompt.substr(plus + 1))};
}

TEST(Addition, WorkedResponses) {
  EXPECT_EQ(worked_response(347, 586), "<7+6=13 4+8+1=13 3+5+1=9>933");
  EXPECT_EQ(worked_response(50, 50), "<0+0=0 5+5=10>100");
  EXPECT_EQ(worked_response(12, 34), "<2+4=6 1+3=4>46");
}

TEST(Addition, RowsAreAFunctionOfSeedSplitAndIndex) {
  AdditionSettings settings;
  settings.seed = 1;
  const Addition first(settings);
  EXPECT_EQ(first.row(5).prompt, Addition(settings).row(5).prompt);
  std::set<std::string> prompts;
  for (std::int64_t i = 0; i < 100; ++i) prompts.insert(first.row(i).prompt);
  EXPECT_GT(prompts.size(), 90u);
  settings.seed = 2;
  EXPECT_NE(first.row(5).prompt + first.row(6).prompt,
            Addition(settings).row(5).prompt + Addition(settings).row(6).prompt);
}

// 4,000 rows: two and three digits 2,000 ± 158 (5 σ) each; prompt, answer and digits as the task says.
TEST(Addition, LengthsAreEquallyLikelyAndAnswersRight) {
  const Addition data(AdditionSettings{});
  std::map<std::size_t, int> lengths;
  for (std::int64_t i = 0; i < 4000; ++i) {
    const DataRow row = data.row(i);
    const auto [a, b] = operands(row);
    ASSERT_EQ(row.prompt, std::to_string(a) + "+" + std::to_string(b) + "=");
    ASSERT_EQ(std::to_string(a).size(), std::to_string(b).size());
    ASSERT_EQ(row.answer, std::to_string(a + b));
    ++lengths[std::to_string(a).size()];
  }
  ASSERT_EQ(lengths.size(), 2u);
  EXPECT_NEAR(lengths[2], 2000, 158);
  EXPECT_NEAR(lengths[3], 2000, 158);
}

// All 8,100 pairs of two digits: a tenth is held out, 810 ± 135 (5 σ), and neither digit sums nor units show which.
TEST(Addition, TheHeldOutTenthIsFixedAndMixed) {
  int held = 0;
  int held_even = 0;
  for (std::uint64_t a = 10; a < 100; ++a) {
    for (std::uint64_t b = 10; b < 100; ++b) {
      held += held_out(a, b);
      held_even += held_out(a, b) && (a + b) % 2 == 0;
    }
  }
  EXPECT_NEAR(held, 810, 135);
  EXPECT_NEAR(held_even, held / 2.0, 75);
}

TEST(Addition, SplitsNeverMeet) {
  AdditionSettings settings;
  settings.test = true;
  settings.size = 256;
  const Addition test(settings);
  EXPECT_EQ(test.size(), 256);
  settings.test = false;
  const Addition train(settings);
  for (std::int64_t i = 0; i < 256; ++i) {
    const Operands t = operands(test.row(i));
    EXPECT_TRUE(held_out(t.a, t.b));
    const Operands u = operands(train.row(i));
    EXPECT_FALSE(held_out(u.a, u.b));
  }
}

// With the share of worked responses 0.25: 500 ± 97 of 2,000 rows.
TEST(Addition, StylesHaveTheirShares) {
  AdditionSettings settings;
  settings.worked = 0.25;
  settings.forget_carry = 0.8;
  const Addition data(settings);
  int worked = 0;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const DataRow row = data.row(i);
    const auto [a, b] = operands(row);
    if (row.response.starts_with("<")) {
      ++worked;
      EXPECT_EQ(row.response, worked_response(a, b));
    }
  }
  EXPECT_NEAR(worked, 500, 97);
}

// A hasty person who forgets every carry adds digit by digit; one who forgets none is right.
TEST(Addition, HastyResponsesForgetCarries) {
  AdditionSettings settings;
  settings.worked = 0;
  settings.forget_carry = 1;
  const Addition forgetful(settings);
  settings.forget_carry = 0;
  const Addition careful(settings);
  for (std::int64_t i = 0; i < 200; ++i) {
    const DataRow row = forgetful.row(i);
    const auto [a, b] = operands(row);
    std::string expected;
    const std::string x = std::to_string(a), y = std::to_string(b);
    for (std::size_t d = 0; d < x.size(); ++d) expected += static_cast<char>('0' + (x[d] - '0' + y[d] - '0') % 10);
    EXPECT_EQ(row.response, expected) << row.prompt;
    EXPECT_EQ(careful.row(i).response, careful.row(i).answer);
  }
}

TEST(RowOrder, EpochsFollowOneAnother) {
  RowOrder order(3, false, 0);
  RowPlace place;
  std::vector<std::int64_t> rows;
  for (int i = 0; i < 7; ++i) rows.push_back(order.next(place, 1));
  EXPECT_EQ(rows, (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(place, (RowPlace{2, 1}));
}

TEST(RowOrder, ShuffledEpochsHoldEachRowOnceAndAPlaceIsEnoughToGoOn) {
  RowOrder order(50, true, 9);
  RowPlace place;
  std::vector<std::int64_t> first, second;
  for (int i = 0; i < 50; ++i) first.push_back(order.next(place, 1));
  const RowPlace middle{1, 20};
  for (int i = 0; i < 50; ++i) second.push_back(order.next(place, 1));
  EXPECT_EQ(std::set<std::int64_t>(first.begin(), first.end()).size(), 50u);
  EXPECT_EQ(std::set<std::int64_t>(second.begin(), second.end()).size(), 50u);
  EXPECT_NE(first, second);
  RowPlace resumed = middle;
  RowOrder fresh(50, true, 9);
  EXPECT_EQ(fresh.next(resumed, 1), second[20]);
  RowPlace other = middle;
  RowOrder other_seed(50, true, 10);
  std::vector<std::int64_t> elsewhere;
  for (int i = 0; i < 30; ++i) elsewhere.push_back(other_seed.next(other, 1));
  EXPECT_NE(elsewhere, std::vector<std::int64_t>(second.begin() + 20, second.end()));
}

TEST(RowOrder, UnboundedOrderOnlyCounts) {
  RowOrder order(std::nullopt, false, 0);
  RowPlace place{0, 1'000'000};
  EXPECT_EQ(order.next(place, 1), 1'000'000);
  EXPECT_EQ(place, (RowPlace{0, 1'000'001}));
}

}  // namespace
}  // namespace rlflow
