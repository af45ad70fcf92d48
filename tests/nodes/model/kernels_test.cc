// Do the CPU kernels compute what they say, row by row?
#include "nodes/model/cpu/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "runtime/contract/philox.h"

namespace rlflow::cpu {
namespace {

constexpr float kNoFloor = -std::numeric_limits<float>::infinity();

std::vector<float> draw(std::size_t count, std::uint64_t seed) {
  PhiloxStream stream(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

// Against a plain double sum, for sizes around every tile edge.
TEST(Product, AgreesWithThePlainSum) {
  for (std::int64_t rows : {1, 3, 4, 5, 6, 11, 12, 13, 29}) {
    for (std::int64_t columns : {1, 15, 16, 17, 40}) {
      const std::int64_t depth = 37;
      const std::vector<float> a = draw(static_cast<std::size_t>(rows * depth), 1);
      const std::vector<float> b = draw(static_cast<std::size_t>(depth * columns), 2);
      std::vector<float> c(static_cast<std::size_t>(rows * columns), 1.0f);
      kernels().product({.rows = rows,
                         .columns = columns,
                         .depth = depth,
                         .a = a.data(),
                         .a_row = depth,
                         .a_depth = 1,
                         .b = b.data(),
                         .b_depth = columns,
                         .b_panel = kLanes,
                         .b_padded = false,
                         .c = c.data(),
                         .c_row = columns,
                         .add = true});
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          double sum = 1;
          for (std::int64_t t = 0; t < depth; ++t) {
            sum += static_cast<double>(a[static_cast<std::size_t>(i * depth + t)]) *
                   b[static_cast<std::size_t>(t * columns + j)];
          }
          ASSERT_NEAR(c[static_cast<std::size_t>(i * columns + j)], sum, 1e-4) << rows << "x" << columns;
        }
      }
    }
  }
}

TEST(Product, ARowDoesNotDependOnTheRowsBesideIt) {
  const std::int64_t depth = 64, columns = 48;
  const std::vector<float> a = draw(30 * 64, 3), b = draw(64 * 48, 4);
  const auto product = [&](std::int64_t first, std::int64_t rows) {
    std::vector<float> c(static_cast<std::size_t>(rows * columns));
    kernels().product({.rows = rows,
                       .columns = columns,
                       .depth = depth,
                       .a = a.data() + first * depth,
                       .a_row = depth,
                       .a_depth = 1,
                       .b = b.data(),
                       .b_depth = columns,
                       .b_panel = kLanes,
                       .b_padded = false,
                       .c = c.data(),
                       .c_row = columns,
                       .add = false});
    return c;
  };
  const std::vector<float> all = product(0, 30);
  for (std::int64_t row = 0; row < 30; ++row) {
    const std::vector<float> alone = product(row, 1);
    for (std::int64_t j = 0; j < columns; ++j) {
      ASSERT_EQ(alone[static_cast<std::size_t>(j)], all[static_cast<std::size_t>(row * columns + j)]);
    }
  }
}

struct TokenTarget {
  float logprob, entropy;
};

TokenTarget token_logprob(const Kernels& table, const float* z, std::int64_t vocabulary, float inverse,
                          std::int32_t token) {
  const Softmax softmax = table.softmax(z, vocabulary, inverse);
  return {softmax.logprob(z[token], inverse), softmax.entropy};
}

// z ← d/dz of Σ_i dlogprob[i]·logprob(tokens[i]) + dentropy·entropy.
void logprob_backward(const Kernels& table, std::vector<float>& z, float inverse,
                      const std::vector<std::int32_t>& tokens, const std::vector<float>& dlogprob, float dentropy) {
  const auto vocabulary = static_cast<std::int64_t>(z.size());
  const Softmax softmax = table.softmax(z.data(), vocabulary, inverse);
  float sum = 0;
  for (float d : dlogprob) sum += d;
  table.softmax_backward(z.data(), vocabulary, inverse, softmax, sum, dentropy);
  for (std::size_t i = 0; i < tokens.size(); ++i) z[static_cast<std::size_t>(tokens[i])] += dlogprob[i] * inverse;
}

TEST(TokenLogprob, AgreesWithDoubleAndIsNeverPositive) {
  for (std::int64_t vocabulary : {2, 16, 20, 1000}) {
    std::vector<float> z = draw(static_cast<std::size_t>(vocabulary), 5);
    for (float& value : z) value *= 8;
    const float inverse = 0.7f;
    double mass = 0, weighted = 0;
    for (float value : z) mass += std::exp(static_cast<double>(value) * inverse);
    for (float value : z) {
      const double p = std::exp(static_cast<double>(value) * inverse) / mass;
      weighted -= p * std::log(p);
    }
    for (std::int32_t token = 0; token < vocabulary; ++token) {
      const TokenTarget got = token_logprob(kernels(), z.data(), vocabulary, inverse, token);
      EXPECT_NEAR(got.logprob, static_cast<double>(z[static_cast<std::size_t>(token)]) * inverse - std::log(mass),
                  1e-5);
      EXPECT_LE(got.logprob, 0);
      EXPECT_NEAR(got.entropy, weighted, 1e-5);
    }
  }
}

TEST(TokenLogprob, ACertainTokenHasLogprobAndEntropyZero) {
  const float z[3] = {0, 1000, -std::numeric_limits<float>::infinity()};
  const TokenTarget got = token_logprob(kernels(), z, 3, 1, 1);
  EXPECT_EQ(got.logprob, 0);
  EXPECT_EQ(got.entropy, 0);
}

TEST(TokenLogprob, ANanReachesTheResult) {
  const float z[3] = {0, std::numeric_limits<float>::quiet_NaN(), 1};
  EXPECT_TRUE(std::isnan(token_logprob(kernels(), z, 3, 1, 0).logprob));
}

TEST(TokenLogprob, TheGradientIsTheSlope) {
  const std::vector<float> z = {0.5f, -1.0f, 2.0f, 0.1f};
  const auto value = [&](std::size_t v, float by) {
    std::vector<float> moved = z;
    moved[v] += by;
    const TokenTarget got = token_logprob(kernels(), moved.data(), 4, 0.5f, 2);
    const TokenTarget other = token_logprob(kernels(), moved.data(), 4, 0.5f, 0);
    return 3.0 * got.logprob - 1.5 * other.logprob + 5.0 * got.entropy;
  };
  std::vector<float> gradient = z;
  logprob_backward(kernels(), gradient, 0.5f, {2, 0}, {3, -1.5f}, 5);
  for (std::size_t v = 0; v < 4; ++v) {
    EXPECT_NEAR(gradient[v], (value(v, 0.01f) - value(v, -0.01f)) / 0.02, 2e-3) << v;
  }
}

// The definition of kernels.h with the standard library's logarithm.
std::int32_t sampled(const std::vector<float>& z, float inverse, std::uint64_t key, std::uint32_t position) {
  std::size_t best = 0;
  double best_score = -std::numeric_limits<double>::infinity();
  for (std::size_t v = 0; v < z.size(); ++v) {
    const float u = open_unit(philox4x32({static_cast<std::uint32_t>(v / 4), position, 0, 0}, key)[v % 4]);
    const double score = static_cast<double>(z[v]) * inverse - std::log(-std::log(static_cast<double>(u)));
    if (score > best_score) {
      best_score = score;
      best = v;
    }
  }
  return static_cast<std::int32_t>(best);
}

TEST(SampleToken, FollowsItsDefinition) {
  const std::vector<float> z = draw(37, 6);
  for (std::uint32_t position = 0; position < 200; ++position) {
    EXPECT_EQ(kernels().sample_token(z.data(), 37, 1.3f, kNoFloor, 42, position), sampled(z, 1.3f, 42, position))
        << position;
  }
}

TEST(SampleToken, DrawsWithTheProbabilitiesOfSoftmax) {
  const std::vector<float> z = {std::log(0.6f), std::log(0.3f), std::log(0.1f)};
  double counts[3] = {};
  for (std::uint64_t key = 0; key < 20'000; ++key) {
    counts[kernels().sample_token(z.data(), 3, 1, kNoFloor, mix64(key), 0)] += 1.0 / 20'000;
  }
  EXPECT_NEAR(counts[0], 0.6, 0.015);  // 4 standard deviations
  EXPECT_NEAR(counts[1], 0.3, 0.015);
  EXPECT_NEAR(counts[2], 0.1, 0.01);
}

// Noise is left out where it cannot matter; the token must be the one that all of the noise gives, for every shape of
// logits: flat, peaked at either end, huge, with a vocabulary that is no multiple of a group.
TEST(SampleToken, LeavingNoiseOutChangesNoToken) {
  for (std::size_t size : {1u, 15u, 63u, 64u, 65u, 1000u, 5003u}) {
    for (float spread : {0.0f, 0.3f, 3.0f, 30.0f, 3000.0f}) {
      std::vector<float> z = draw(size, size);
      for (float& value : z) value *= spread;
      if (size > 100) z[size - 2] = 4 * spread + 2;
      for (std::uint32_t position = 0; position < 60; ++position) {
        const std::uint64_t key = mix64(position + size);
        const std::int32_t token =
            kernels().sample_token(z.data(), static_cast<std::int64_t>(size), 0.9f, kNoFloor, key, position);
        ASSERT_EQ(token, sampled(z, 0.9f, key, position)) << size << " " << spread;
      }
    }
  }
}

TEST(SampleToken, TiesGoToTheLowerIdAndAFloorLeavesOut) {
  std::vector<float> z(200, -1e30f);
  z[70] = z[130] = 1e30f;  // noise is lost beside them
  EXPECT_EQ(kernels().sample_token(z.data(), 200, 1, kNoFloor, 5, 0), 70);
  z[70] = 0.5f;
  z[130] = 1;
  z[131] = 50;
  for (std::uint32_t position = 0; position < 100; ++position) {
    EXPECT_EQ(kernels().sample_token(z.data(), 131, 1, 0.7f, 5, position), 130);
  }
}

// The kept set by sorting in doubles: the k most likely, of these the smallest set of share p, of these the ones not
// below min_p of the best; ties at a border stay.
std::vector<bool> kept(const std::vector<float>& z, double inverse, const Truncation& truncation) {
  std::vector<float> order = z;
  std::sort(order.begin(), order.end(), std::greater<>());
  std::size_t count = order.size();
  const auto ties = [&] {
    while (count < order.size() && order[count] == order[count - 1]) ++count;
  };
  if (truncation.top_k > 0) count = std::min(count, static_cast<std::size_t>(truncation.top_k));
  ties();
  double mass = 0, share = 0;
  for (std::size_t i = 0; i < count; ++i) mass += std::exp((order[i] - order[0]) * inverse);
  if (truncation.top_p < 1) {
    std::size_t last = 0;
    while (last < count && (share += std::exp((order[last] - order[0]) * inverse)) < truncation.top_p * mass) ++last;
    count = std::min(count, last + 1);
    ties();
  }
  while (count > 1 && (order[count - 1] - order[0]) * inverse < std::log(truncation.min_p)) --count;
  std::vector<bool> result;
  for (float value : z) result.push_back(value >= order[count - 1]);
  return result;
}

constexpr Truncation kTruncations[] = {{},        {5, 1, 0},   {0, 0.6, 0},    {0, 1, 0.2}, {1, 1, 0},
                                       {0, 0, 0}, {8, 0.7, 0}, {20, 0.9, 0.1}, {0, 1, 1},   {300, 0.999, 1e-4}};

TEST(SamplingFloor, KeepsWhatSortingKeeps) {
  for (std::size_t size : {1u, 2u, 50u, 700u, 4097u}) {
    std::vector<float> scratch(size);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      std::vector<float> z = draw(size, seed);
      for (std::size_t i = 0; i + 3 < size; i += 7) z[i] = z[i + 3];  // ties
      for (const Truncation& truncation : kTruncations) {
        const float floor =
            kernels().sampling_floor(z.data(), static_cast<std::int64_t>(size), 1.7f, truncation, scratch.data());
        const std::vector<bool> expected = kept(z, 1.7f, truncation);
        for (std::size_t v = 0; v < size; ++v) {
          ASSERT_EQ(z[v] >= floor, expected[v])
              << size << " " << truncation.top_k << " " << truncation.top_p << " " << truncation.min_p << " " << v;
        }
      }
    }
  }
}

TEST(SamplingFloor, CutsNothingWhereNothingIsANumber) {
  std::vector<float> z(40, std::numeric_limits<float>::quiet_NaN()), scratch(40);
  EXPECT_EQ(kernels().sampling_floor(z.data(), 40, 1, {5, 0.5, 0.1}, scratch.data()), kNoFloor);
  z[7] = 1;
  EXPECT_EQ(kernels().sampling_floor(z.data(), 40, 1, {5, 0.5, 0.1}, scratch.data()) > 1, false);
}

// χ² of 100,000 draws with keys of their own against the exact distribution. The seeds are fixed, so it cannot flake;
// a wrong distribution by 1 % of one token would exceed the bound, the 0.9999 quantile (Wilson and Hilferty).
TEST(SampleToken, HasTheExactDistributionUnderEveryTruncation) {
  const std::vector<float> z = draw(30, 77);
  const double inverse = 1 / 0.7;
  std::vector<float> scratch(30);
  for (const Truncation& truncation : kTruncations) {
    const float floor = kernels().sampling_floor(z.data(), 30, static_cast<float>(inverse), truncation, scratch.data());
    std::vector<double> counts(30);
    for (std::uint64_t draw_index = 0; draw_index < 100'000; ++draw_index) {
      const std::uint64_t key = h64(RandomPurpose::sampling, {9, draw_index});
      ++counts[static_cast<std::size_t>(
          kernels().sample_token(z.data(), 30, static_cast<float>(inverse), floor, key, 3))];
    }
    const std::vector<bool> allowed = kept(z, inverse, truncation);
    double mass = 0, chi_square = 0, freedom = -1;
    for (std::size_t v = 0; v < 30; ++v) mass += allowed[v] ? std::exp(z[v] * inverse) : 0;
    for (std::size_t v = 0; v < 30; ++v) {
      const double expected = allowed[v] ? 100'000 * std::exp(z[v] * inverse) / mass : 0;
      if (expected == 0) {
        EXPECT_EQ(counts[v], 0) << v;
        continue;
      }
      ASSERT_GT(expected, 5) << v;
      chi_square += (counts[v] - expected) * (counts[v] - expected) / expected;
      ++freedom;
    }
    const double cube = 1 - 2 / (9 * freedom) + 3.719 * std::sqrt(2 / (9 * freedom));
    EXPECT_LE(chi_square, freedom == 0 ? 1e-9 : freedom * cube * cube * cube)
        << truncation.top_k << " " << truncation.top_p << " " << truncation.min_p;
  }
}

// columns f32[dim, stride] as blocks f32[stride/16, dim, 16].
std::vector<float> in_blocks(const std::vector<float>& columns, std::int64_t dim, std::int64_t stride) {
  std::vector<float> blocks;
  for (std::int64_t j = 0; j < stride; j += kLanes) {
    for (std::int64_t d = 0; d < dim; ++d) {
      const auto at = columns.begin() + d * stride + j;
      blocks.insert(blocks.end(), at, at + kLanes);
    }
  }
  return blocks;
}

// A span in blocks gives the bits of the same span in one piece.
TEST(Attention, BlocksChangeNoBit) {
  constexpr std::int64_t kDim = 22, kBlock = kLanes * (kDim + 32);
  const std::vector<float> keys = draw(kDim * 64, 8), values = draw(64 * 32, 9), q = draw(kDim, 10);
  std::vector<float> blocks(4 * kBlock + 7), scores(128), whole(kDim), paged(kDim);
  std::vector<const float*> at;
  for (std::int64_t b = 0; b < 4; ++b) {
    float* block = blocks.data() + (3 - b) * kBlock;  // in any order
    at.push_back(block);
    for (std::int64_t d = 0; d < kDim; ++d)
      std::copy_n(&keys[static_cast<std::size_t>(d * 64 + 16 * b)], 16, block + 7 + 16 * d);
    std::copy_n(&values[static_cast<std::size_t>(16 * b * 32)], 16 * 32, block + 7 + 16 * kDim);
  }
  const std::vector<float> together = in_blocks(keys, kDim, 64);
  for (std::int64_t shared : {0, 5, 16, 33, 64}) {
    for (std::int64_t own : {1, 15, 16, 17, 64}) {
      const KeySpan span{together.data(), values.data(), 32, 64};
      const KeySpan prefix{together.data(), values.data(), 32, shared};
      const float lse = kernels().attend({prefix, span, own, kDim, 0.2f, scores.data()}, q.data(), whole.data());
      const PagedAttention attention{{at.data(), 7, shared}, {at.data(), 7, 64}, own, kDim, 0.2f, scores.data()};
      EXPECT_EQ(kernels().attend_paged(attention, q.data(), paged.data()), lse);
      EXPECT_EQ(whole, paged) << shared << " " << own;
    }
  }
}

TEST(LikeliestToken, IsTheFirstOfTheLargestAnywhere) {
  for (std::size_t at = 0; at < 83; ++at) {
    std::vector<float> z(83, -2);
    z[at] = -1;
    if (at + 5 < 83) z[at + 5] = -1;
    EXPECT_EQ(kernels().likeliest_token(z.data(), 83), static_cast<std::int32_t>(at));
  }
}

TEST(LikeliestToken, TiesGoToTheLowerId) {
  const float z[4] = {1, 3, 3, 2};
  EXPECT_EQ(kernels().likeliest_token(z, 4), 1);
}

// Every kernel once on drawn numbers, with sizes that are no multiples of 16: all outputs, one after another.
class Everything {
 public:
  explicit Everything(const Kernels& kernels) : k_(kernels) {
    rows_and_products();
    attention();
    tokens_and_optimizer();
  }
  std::vector<float> results;

 private:
  void keep(const std::vector<float>& values) { results.insert(results.end(), values.begin(), values.end()); }

  void rows_and_products() {
    const std::vector<float> x = draw(13 * 44, 1), weight = draw(44, 2), dy = draw(13 * 44, 3);
    std::vector<float> y(13 * 44), scales(13), dx = draw(13 * 44, 4), dweight(44), gate_up = draw(13 * 88, 5);
    k_.rms_norm(x.data(), weight.data(), 1.0f, 13, 44, 1e-5f, y.data(), scales.data());
    keep(y);
    k_.rms_norm_backward(x.data(), weight.data(), 1.0f, scales.data(), dy.data(), 13, 44, dx.data(), true,
                         dweight.data());
    keep(dx);
    keep(dweight);
    k_.swiglu(gate_up.data(), 13, 44, y.data());
    keep(y);
    k_.swiglu_backward(gate_up.data(), dy.data(), 13, 44);
    keep(gate_up);
    k_.geglu(gate_up.data(), 13, 44, y.data());
    keep(y);
    k_.geglu_backward(gate_up.data(), dy.data(), 13, 44);
    keep(gate_up);
    const std::vector<std::int32_t> positions = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 3};
    const std::vector<float> cos = draw(4 * 11, 6), sin = draw(4 * 11, 7);
    k_.rope(dx.data(), 44, positions.data(), 13, 2, 22, cos.data(), sin.data(), 1.0f);
    keep(dx);
    const std::vector<float> b = draw(44 * 44, 15);
    k_.product({.rows = 13,
                .columns = 44,
                .depth = 44,
                .a = x.data(),
                .a_row = 44,
                .a_depth = 1,
                .b = b.data(),
                .b_depth = 44,
                .b_panel = kLanes,
                .b_padded = false,
                .c = y.data(),
                .c_row = 44,
                .add = true});
    keep(y);
  }

  void attention() {
    const std::vector<float> keys = draw(32 * 32, 8), values = draw(32 * 32, 9), q = draw(22, 10), dout = draw(22, 11);
    std::vector<float> scores(64), dscores(64), out(22), dq(22), dkeys(32 * 32), dvalues(32 * 32);
    const std::vector<float> blocks = in_blocks(keys, 22, 32), value_blocks = in_blocks(values, 22, 32);
    const KeySpan span{blocks.data(), values.data(), 32, 19}, cut{blocks.data(), values.data(), 32, 19, 3};
    const Attention attention{cut, span, 17, 22, 0.2f, scores.data()};
    const float lse = k_.attend(attention, q.data(), out.data());
    keep(out);
    const SpanGradient gradient{keys.data(), value_blocks.data(), dkeys.data(), dvalues.data()};
    k_.attend_backward(attention, {gradient, gradient, dscores.data()}, q.data(), out.data(), lse, dout.data(),
                       dq.data());
    keep({lse});
    keep(dq);
    keep(dkeys);
    keep(dvalues);
  }

  void tokens_and_optimizer() {
    std::vector<float> z = draw(37, 12), parameter = draw(50, 13), m(50), v(50), gradient = draw(50, 14);
    const TokenTarget target = token_logprob(k_, z.data(), 37, 0.9f, 5);
    keep({target.logprob, target.entropy, static_cast<float>(k_.sample_token(z.data(), 37, 0.9f, kNoFloor, 3, 4))});
    logprob_backward(k_, z, 0.9f, {5}, {1.5f}, 0.5f);
    keep(z);
    k_.adamw({0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.5f, 0.1f, 0.2f}, 50, parameter.data(), gradient.data(), m.data(),
             v.data());
    keep(parameter);
    keep({static_cast<float>(k_.sum_of_squares(gradient.data(), 50))});
  }

  const Kernels& k_;
};

TEST(InstructionSets, TablesWithFusedMultiplyAddGiveEqualBitsAndTheOtherIsNear) {
  const std::vector<float> best = Everything(kernels()).results;
  ASSERT_GT(best.size(), 5000u);
  for (const KernelTable& table : supported_kernels()) {
    const std::vector<float> other = Everything(*table.kernels).results;
    ASSERT_EQ(other.size(), best.size());
    const bool fused = std::string(table.name) != "baseline";
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (fused) {
        ASSERT_EQ(other[i], best[i]) << table.name << " " << i;
      } else {
        ASSERT_NEAR(other[i], best[i], 1e-4 * (1 + std::abs(best[i]))) << table.name << " " << i;
      }
    }
  }
}

// What the kernels computed when runs were recorded with them: a replay compares bits, so another order of additions or
// another product that is fused with a sum is a change of format. Compilers choose the latter; this notices.
#if !defined(__SANITIZE_ADDRESS__)  // which compiles other expressions
TEST(InstructionSets, BitsAreThoseOfEarlierBuilds) {
  if (std::string(kernels_name()) == "baseline") GTEST_SKIP() << "without fused multiply-add the bits are others";
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a over the words
  for (float value : Everything(kernels()).results) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3ULL;
  }
  EXPECT_EQ(hash, 0xdafea1b73961c374ULL);
}
#endif

}  // namespace
}  // namespace rlflow::cpu
