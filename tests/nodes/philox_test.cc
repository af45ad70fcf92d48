// Does the counter-based generator give the published words, and are what is made of them fair?
#include "runtime/contract/philox.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rlflow {
namespace {

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  // Random123's kat_vectors for all-ones.
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, ~std::uint64_t{0}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Philox, StreamReadsBlocksInOrder) {
  PhiloxStream stream(0);
  EXPECT_EQ(stream.word(), 0x6627e8d5u);
  EXPECT_EQ(stream.word(), 0xe169c58du);
  EXPECT_EQ(stream.word64(), 0x9b00dbd8bc57ac4cull);
  EXPECT_EQ(stream.word(), philox4x32({1, 0, 0, 0}, 0)[0]);
}

TEST(Philox, KeysDependOnEveryFieldAndTheirOrder) {
  const std::uint64_t key = h64(RandomPurpose::sampling, {1, 2, 3});
  EXPECT_EQ(key, h64(RandomPurpose::sampling, {1, 2, 3}));
  EXPECT_NE(key, h64(RandomPurpose::sampling, {1, 3, 2}));
  EXPECT_NE(key, h64(RandomPurpose::sampling, {1, 2}));
  EXPECT_NE(key, h64(RandomPurpose::sampling, {1, 2, 3, 0}));
  EXPECT_NE(key, h64(RandomPurpose::init, {1, 2, 3}));
}

TEST(Philox, OpenUnitHasNeitherEnd) {
  EXPECT_EQ(open_unit(0), 0x1p-24f);
  EXPECT_EQ(open_unit(~0u), 1.0f - 0x1p-24f);
}

// 30,000 draws of 3: expected 10,000 each, standard deviation 82; 5 of them is 410.
TEST(Philox, BelowIsFair) {
  PhiloxStream stream(7);
  std::array<int, 3> count{};
  for (int i = 0; i < 30000; ++i) ++count[stream.below(3)];
  for (int c : count) EXPECT_NEAR(c, 10000, 410);
  EXPECT_EQ(PhiloxStream(7).below(1), 0u);
}

// 40,000 normals: the mean has standard deviation 0.005, the second moment 0.0071, the fourth 0.049.
TEST(Philox, NormalHasItsMoments) {
  PhiloxStream stream(11);
  double m1 = 0, m2 = 0, m4 = 0;
  for (int i = 0; i < 40000; ++i) {
    const double z = stream.normal();
    m1 += z;
    m2 += z * z;
    m4 += z * z * z * z;
  }
  EXPECT_NEAR(m1 / 40000, 0, 0.025);
  EXPECT_NEAR(m2 / 40000, 1, 0.036);
  EXPECT_NEAR(m4 / 40000, 3, 0.25);
}

TEST(Philox, PermutationHoldsEachIndexOnceAndDependsOnTheKey) {
  std::vector<std::int64_t> order = permutation(100, PhiloxStream(5));
  EXPECT_EQ(order, permutation(100, PhiloxStream(5)));
  EXPECT_NE(order, permutation(100, PhiloxStream(6)));
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(permutation(0, PhiloxStream(5)).empty());
}

}  // namespace
}  // namespace rlflow
