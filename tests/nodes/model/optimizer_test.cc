// Do AdamW, its schedules and the weights digest give what their formulas say?
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "nodes/model/adamw.h"
#include "nodes/model/weights_digest.h"
#include "runtime/contract/philox.h"

namespace rlflow {
namespace {

// One matrix f32[2, 1] and one norm f32[1].
ParameterLayout small_layout() {
  ModelConfig config;
  config.vocab_size = 2;
  config.hidden_size = 1;
  config.tie_word_embeddings = true;
  return ParameterLayout(config);
}

TEST(AdamW, TwoStepsWorkedByHand) {
  const ParameterLayout layout = small_layout();
  ASSERT_EQ(layout.size, 3);
  AdamWSettings settings;
  settings.schedule = {RateScheduleKind::constant, 0.1, 0, 1, 0};
  settings.beta1 = 0.5;
  settings.beta2 = 0.75;
  settings.eps = 0;
  settings.decay = 0.5;
  settings.clip = 0;
  AdamW optimizer(settings, layout);
  float parameters[3] = {1, 2, 4};
  const float first[3] = {2, -2, 2}, second[3] = {4, 0, 4};
  // m/(1−β1) ÷ √(v/(1−β2)) of the first step is the gradient's sign; matrices first shrink by 1 − 0.1·0.5.
  optimizer.step(parameters, first, 1);
  EXPECT_FLOAT_EQ(parameters[0], 1 * 0.95f - 0.1f);
  EXPECT_FLOAT_EQ(parameters[1], 2 * 0.95f + 0.1f);
  EXPECT_FLOAT_EQ(parameters[2], 4 - 0.1f);  // a norm does not decay
  // Element 0: m = (1 + 4)/2 = 2.5, m̂ = 2.5/0.75; v = 1·0.75 + 16·0.25 = 4.75, v̂ = 4.75/0.4375.
  const float move = 0.1f * (2.5f / 0.75f) / std::sqrt(4.75f / 0.4375f);
  const float before = parameters[0];
  optimizer.step(parameters, second, 1);
  EXPECT_FLOAT_EQ(parameters[0], before * 0.95f - move);
  EXPECT_EQ(optimizer.steps(), 2);
}

TEST(AdamW, ClipsTheNormOfTheWholeGradient) {
  const ParameterLayout layout = small_layout();
  AdamWSettings settings;
  settings.schedule.peak = 1;
  settings.clip = 0.5;
  settings.beta1 = 0;
  AdamW optimizer(settings, layout);
  float parameters[3] = {};
  const float gradient[3] = {3, 4, 0};
  EXPECT_DOUBLE_EQ(optimizer.step(parameters, gradient, 1).gradient_norm, 5);
  EXPECT_NEAR(optimizer.moment1()[0], 0.3, 1e-6);
  EXPECT_NEAR(optimizer.moment1()[1], 0.4, 1e-6);
}

TEST(AdamW, AGradientThatIsNotFiniteChangesNothing) {
  const ParameterLayout layout = small_layout();
  AdamWSettings settings;
  settings.schedule.peak = 1;
  AdamW optimizer(settings, layout);
  float parameters[3] = {1, 2, 3};
  const float gradient[3] = {1, std::numeric_limits<float>::quiet_NaN(), 1};
  EXPECT_FALSE(optimizer.step(parameters, gradient, 1).applied);
  EXPECT_EQ(parameters[0], 1);
  EXPECT_EQ(optimizer.moment1()[0], 0);
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(RateSchedule, CosineWithWarmUpCountsFromOne) {
  const RateSchedule schedule{RateScheduleKind::cosine, 3e-3, 50, 900, 0.1};
  EXPECT_NEAR(schedule.rate(1), 3e-3 / 50, 1e-12);
  EXPECT_NEAR(schedule.rate(451), 3e-3 * 0.55, 1e-12);
  EXPECT_NEAR(schedule.rate(901), 3e-4, 1e-12);
  EXPECT_NEAR(schedule.rate(5000), 3e-4, 1e-12);
}

TEST(RateSchedule, LinearFallsToItsFloor) {
  const RateSchedule schedule{RateScheduleKind::linear, 1.0, 0, 10, 0.5};
  EXPECT_DOUBLE_EQ(schedule.rate(1), 1.0);
  EXPECT_DOUBLE_EQ(schedule.rate(6), 0.75);
  EXPECT_DOUBLE_EQ(schedule.rate(11), 0.5);
}

TEST(RateSchedule, ReadsItsCall) {
  CallValue lr{"cosine", {}, {{"peak", 2.0}, {"warmup", std::int64_t{4}}, {"total", std::int64_t{8}}, {"floor", 0.0}}};
  const CallValue optim{"adamw",
                        {},
                        {{"lr", lr},
                         {"betas", List{0.9, 0.95}},
                         {"eps", 1e-8},
                         {"decay", 0.01},
                         {"decay_all", true},
                         {"clip", std::int64_t{1}}}};
  const AdamWSettings settings = adamw_settings(optim);
  EXPECT_EQ(settings.schedule.kind, RateScheduleKind::cosine);
  EXPECT_DOUBLE_EQ(settings.schedule.rate(1), 0.5);
  EXPECT_DOUBLE_EQ(settings.beta2, 0.95);
  EXPECT_TRUE(settings.decay_all);
  EXPECT_DOUBLE_EQ(settings.clip, 1);
}

// The definition of weights_digest.h, written out again for one element.
WeightsDigest element(std::uint64_t id, std::uint64_t index, float value) {
  const std::uint64_t k = id + index * 0x9e3779b97f4a7c15ULL;
  const std::uint64_t lo = mix64(k ^ mix64(std::bit_cast<std::uint32_t>(value) + 0x9e3779b97f4a7c15ULL));
  return {lo, mix64(lo + k + 0xd1b54a32d192ed03ULL)};
}

TEST(WeightsDigest, IsTheSumOverElements) {
  const float values[3] = {1.0f, -0.0f, 2.5f};
  WeightsDigest expected = element(9, 2, 2.5f);
  expected += element(9, 0, 1.0f);
  expected += element(9, 1, -0.0f);
  EXPECT_EQ(digest_of(9, values, 3, 1), expected);
  EXPECT_EQ(tensor_id(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(tensor_id("a"), 0xaf63dc4c8601ec8cULL);  // FNV-1a's published value
}

TEST(WeightsDigest, KnownAnswer) {
  std::vector<float> values(300'003, 0.5f);
  WeightsDigest one_by_one;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] += static_cast<float>(i);
    one_by_one += element(tensor_id("w"), i, values[i]);
  }
  const auto size = static_cast<std::int64_t>(values.size());
  EXPECT_EQ(hex(digest_of(tensor_id("w"), values.data(), size, 1)), hex(one_by_one));
  EXPECT_EQ(hex(digest_of(tensor_id("w"), values.data(), size, 2)), hex(one_by_one));
  const float one = 1.0f;  // worked out in Python from the definition
  EXPECT_EQ(hex(digest_of(tensor_id("w"), &one, 1, 1)), "411fe7d4e151b242b084f1694e5a8dec");
}

TEST(WeightsDigest, SeesSignsPlacesAndNames) {
  const float a[2] = {0.0f, 1.0f}, b[2] = {-0.0f, 1.0f}, c[2] = {1.0f, 0.0f};
  EXPECT_FALSE(digest_of(1, a, 2, 1) == digest_of(1, b, 2, 1));
  EXPECT_FALSE(digest_of(1, a, 2, 1) == digest_of(1, c, 2, 1));
  EXPECT_FALSE(digest_of(1, a, 2, 1) == digest_of(2, a, 2, 1));
}

}  // namespace
}  // namespace rlflow
