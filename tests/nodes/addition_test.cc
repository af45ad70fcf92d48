// Does the generator of sums make what it says: fair numbers, a fixed held-out tenth, both ways of answering?
#include "nodes/data/addition.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <stdexcept>

#include "nodes/data/order.h"

namespace rlflow {
namespace {

struct Pair {
  std::string left, right;
};

Pair pair_of(const DataRow& row) {
  const std::size_t plus = row.prompt.find('+');
  EXPECT_EQ(row.prompt.back(), '=');
  return {row.prompt.substr(0, plus), row.prompt.substr(plus + 1, row.prompt.size() - plus - 2)};
}

AdditionSettings settings(std::int64_t lo, std::int64_t hi, bool test, std::uint64_t seed = 1) {
  AdditionSettings s;
  s.min_digits = lo;
  s.max_digits = hi;
  s.test = test;
  s.seed = seed;
  return s;
}

// Over all 8,100 pairs of 2 digits: 810 expected, standard deviation 27. A multiplicative hash of the pair would hold
// out stripes; so each last digit of either number must have its share too: 81 of 810, standard deviation 8.5.
TEST(Addition, ATenthIsHeldOutAndEvenly) {
  int all = 0;
  std::array<int, 10> by_left{}, by_right{}, by_sum{};
  for (std::uint64_t a = 10; a < 100; ++a) {
    for (std::uint64_t b = 10; b < 100; ++b) {
      if (!held_out(a, b)) continue;
      ++all;
      ++by_left[a % 10];
      ++by_right[b % 10];
      ++by_sum[(a + b) % 10];
    }
  }
  EXPECT_NEAR(all, 810, 110);
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_NEAR(by_left[static_cast<std::size_t>(digit)], 81, 38) << digit;
    EXPECT_NEAR(by_right[static_cast<std::size_t>(digit)], 81, 38) << digit;
    EXPECT_NEAR(by_sum[static_cast<std::size_t>(digit)], 81, 38) << digit;
  }
}

// All 810,000 pairs of 3 digits: 81,000 expected, standard deviation 270.
TEST(Addition, ATenthOfThreeDigitsIsHeldOut) {
  int all = 0;
  for (std::uint64_t a = 100; a < 1000; ++a) {
    for (std::uint64_t b = 100; b < 1000; ++b) all += held_out(a, b);
  }
  EXPECT_NEAR(all, 81000, 1100);
}

TEST(Addition, SplitsShareNoPair) {
  const Addition train(settings(1, 2, false)), test(settings(1, 2, true));
  std::set<std::string> shown;
  for (std::int64_t i = 0; i < 20000; ++i) shown.insert(train.row(i).prompt);
  for (std::int64_t i = 0; i < 2000; ++i) EXPECT_FALSE(shown.contains(test.row(i).prompt)) << test.row(i).prompt;
  EXPECT_FALSE(shown.empty());
}

TEST(Addition, ARowDependsOnSeedSplitAndIndexAlone) {
  const Addition one(settings(2, 3, false)), same(settings(2, 3, false)), other(settings(2, 3, false, 2));
  same.row(17);  // order of asking does not matter
  int differing = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(one.row(i).prompt, same.row(i).prompt);
    EXPECT_EQ(one.row(i).response, same.row(i).response);
    differing += one.row(i).prompt != other.row(i).prompt;
  }
  EXPECT_GT(differing, 45);
  EXPECT_NE(one.row(0).prompt, one.row(1).prompt);
}

// How responses are written does not change what is asked.
TEST(Addition, StyleDoesNotMoveThePrompts) {
  AdditionSettings hasty = settings(2, 3, false);
  hasty.worked = 0;
  hasty.forget_carry = 0.5;
  const Addition one(settings(2, 3, false)), other(hasty);
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(one.row(i).prompt, other.row(i).prompt);
}

// 20,000 rows: half have 2 digits (standard deviation 71); first digits 1..9 are equally likely, 2,222 each (44), last
// digits 0..9 2,000 each (42). Holding out by a bad hash would show here.
TEST(Addition, LengthsAndDigitsAreUniform) {
  const Addition train(settings(2, 3, false));
  std::map<std::size_t, int> lengths;
  std::array<int, 10> first{}, last{};
  for (std::int64_t i = 0; i < 20000; ++i) {
    const Pair pair = pair_of(train.row(i));
    EXPECT_EQ(pair.left.size(), pair.right.size());
    ++lengths[pair.left.size()];
    ++first[static_cast<std::size_t>(pair.left.front() - '0')];
    ++last[static_cast<std::size_t>(pair.right.back() - '0')];
  }
  EXPECT_EQ(lengths.size(), 2u);
  EXPECT_NEAR(lengths[2], 10000, 350);
  EXPECT_EQ(first[0], 0);
  for (std::size_t digit = 1; digit < 10; ++digit) EXPECT_NEAR(first[digit], 2222, 220) << digit;
  for (std::size_t digit = 0; digit < 10; ++digit) EXPECT_NEAR(last[digit], 2000, 210) << digit;
}

TEST(Addition, AnswersAreTheSums) {
  const Addition nine(settings(9, 9, false)), one(settings(1, 1, true));
  for (std::int64_t i = 0; i < 100; ++i) {
    for (const Addition* data : {&nine, &one}) {
      const DataRow row = data->row(i);
      const Pair pair = pair_of(row);
      EXPECT_EQ(row.answer, std::to_string(std::stoull(pair.left) + std::stoull(pair.right)));
    }
  }
}

TEST(Addition, WorksColumnByColumn) {
  EXPECT_EQ(worked_response(347, 586), "<7+6=13 4+8+1=13 3+5+1=9>933");
  EXPECT_EQ(worked_response(10, 20), "<0+0=0 1+2=3>30");
  EXPECT_EQ(worked_response(99, 99), "<9+9=18 9+9+1=19>198");
  EXPECT_EQ(worked_response(5, 5), "<5+5=10>10");
}

// 347 + 586 forgetting the carries of the first two columns: 7+6 -> 3, 4+8 -> 2, 3+5 -> 8.
TEST(Addition, ForgetsEveryCarryOrNone) {
  PhiloxStream stream(1);
  EXPECT_EQ(hasty_response(347, 586, 1.0, stream), "823");
  EXPECT_EQ(hasty_response(347, 586, 0.0, stream), "933");
  EXPECT_EQ(hasty_response(99, 99, 1.0, stream), "88");  // the final carry is forgotten too
  EXPECT_EQ(hasty_response(99, 99, 0.0, stream), "198");
  EXPECT_EQ(hasty_response(50, 50, 1.0, stream), "00");
}

// 5 + 5 has one carry: of 10,000 responses 8,000 forget it (standard deviation 40).
TEST(Addition, ForgetsACarryAsOftenAsAsked) {
  PhiloxStream stream(3);
  int forgotten = 0;
  for (int i = 0; i < 10000; ++i) forgotten += hasty_response(5, 5, 0.8, stream) == "0";
  EXPECT_NEAR(forgotten, 8000, 200);
}

// 8,000 rows: 2,000 worked (standard deviation 39), each of them right.
TEST(Addition, AShareOfResponsesIsWorked) {
  AdditionSettings both = settings(2, 3, false);
  both.worked = 0.25;
  both.forget_carry = 0.8;
  const Addition data(both);
  int worked = 0;
  for (std::int64_t i = 0; i < 8000; ++i) {
    const DataRow row = data.row(i);
    if (!row.response.starts_with('<')) continue;
    ++worked;
    const Pair pair = pair_of(row);
    EXPECT_EQ(row.response, worked_response(std::stoull(pair.left), std::stoull(pair.right)));
  }
  EXPECT_NEAR(worked, 2000, 195);
}

PlanData declaration() {
  PlanData data;
  data.name = "train";
  data.source = "builtin";
  data.argument = "addition";
  data.settings = {{"seed", std::int64_t{4}}, {"size", Value()}, {"shuffle", false},   {"digits", Range{2, 2}},
                   {"split", Word{"test"}},   {"worked", 1.0},   {"forget_carry", 0.0}};
  return data;
}

TEST(OpenDataset, TakesItsSettings) {
  PlanData data = declaration();
  EXPECT_EQ(open_dataset(data, "")->size(), std::nullopt);
  const DataRow row = open_dataset(data, "")->row(3);
  EXPECT_EQ(row.prompt, Addition(settings(2, 2, true, 4)).row(3).prompt);
  EXPECT_EQ(row.response.front(), '<');
  data.settings["size"] = std::int64_t{5};
  EXPECT_EQ(open_dataset(data, "")->size(), 5);
}

TEST(OpenDataset, NamesWhatItCannotRead) {
  PlanData data = declaration();
  data.argument = "subtraction";
  try {
    open_dataset(data, "");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("data `train`"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("subtraction"), std::string::npos) << error.what();
  }
}

TEST(RowOrder, GoesThroughEpochsInOrder) {
  RowOrder order(3, false, 1);
  RowPlace place;
  std::vector<std::int64_t> rows;
  for (int i = 0; i < 7; ++i) rows.push_back(order.next(place, 1));
  EXPECT_EQ(rows, (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(place, (RowPlace{2, 1}));
  RowOrder endless(std::nullopt, false, 1);
  place = {0, 1000};
  EXPECT_EQ(endless.next(place, 1), 1000);
}

TEST(RowOrder, ShuffledEpochsHoldEachRowOnceAndDiffer) {
  RowOrder order(50, true, 1);
  RowPlace place;
  std::vector<std::vector<std::int64_t>> epochs(2);
  for (std::vector<std::int64_t>& epoch : epochs) {
    for (int i = 0; i < 50; ++i) epoch.push_back(order.next(place, 9));
    EXPECT_EQ(std::set<std::int64_t>(epoch.begin(), epoch.end()).size(), 50u);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  RowOrder resumed(50, true, 1);  // in the middle of the second epoch, with nothing but the place
  place = {1, 20};
  EXPECT_EQ(resumed.next(place, 9), epochs[1][20]);
  place = {1, 20};
  RowOrder other_data(50, true, 2);
  std::vector<std::int64_t> other;
  for (int i = 20; i < 50; ++i) other.push_back(other_data.next(place, 9));
  EXPECT_NE(other, std::vector<std::int64_t>(epochs[1].begin() + 20, epochs[1].end()));
}

}  // namespace
}  // namespace rlflow
