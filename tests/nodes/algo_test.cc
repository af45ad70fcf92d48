// Do the algorithms give the golden vectors of the reference, and does cutting a batch leave a loss alone?
// Rows of 4 tokens with masks 1110, 1111, 1100, 1011; groups {0, 1} and {2, 3}.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "nodes/algo/aggregate.h"
#include "nodes/algo/entropy.h"
#include "nodes/algo/group_advantage.h"
#include "nodes/algo/kl.h"
#include "nodes/algo/masked.h"
#include "nodes/algo/off_policy.h"
#include "nodes/algo/pair_loss.h"
#include "nodes/algo/policy_loss.h"
#include "nodes/algo/token_advantage.h"
#include "nodes/algo/value_loss.h"

namespace rlflow::algo {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

at::Tensor floats(std::vector<float> values) { return at::tensor(values, at::kFloat); }
at::Tensor longs(std::vector<std::int64_t> values) { return at::tensor(values, at::kLong); }

at::Tensor mask() { return floats({1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1}) > 0; }
at::Tensor offsets() { return longs({0, 4, 8, 12, 16}); }
at::Tensor response() { return longs({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}); }
Groups two_groups() { return {longs({0, 0, 1, 1}), 2}; }
at::Tensor scores() { return floats({1, 0, 1, 0.5f}); }
at::Tensor token_rewards() { return floats({0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0.5f}); }

// Compares where `expected` is not NaN: the reference leaves masked positions open.
void expect_near(const at::Tensor& actual, std::vector<float> expected, double tolerance = 2e-6) {
  ASSERT_EQ(actual.numel(), static_cast<std::int64_t>(expected.size()));
  const at::Tensor flat = actual.detach().to(at::kFloat).contiguous();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) continue;
    EXPECT_NEAR(flat.const_data_ptr<float>()[i], expected[i], tolerance) << "element " << i;
  }
}

TEST(GroupAdvantage, Grpo) {
  // Group 0: mean ½, deviation √½; ½/(√½ + 1e-6). Group 1: mean ¾, deviation √⅛.
  expect_near(grpo(scores(), two_groups(), 1e-6, Scale::group), {0.707106f, -0.707106f, 0.707105f, -0.707105f});
  // The batch: mean 0.625, squares 0.140625·2 + 0.390625 + 0.015625 = 0.6875, deviation √(0.6875/3) = 0.478714.
  expect_near(grpo(scores(), two_groups(), 1e-6, Scale::batch), {1.044464f, -1.044464f, 0.522232f, -0.522232f});
  expect_near(grpo(scores(), two_groups(), 1e-6, Scale::none), {0.5f, -0.5f, 0.25f, -0.25f});
}

TEST(GroupAdvantage, GroupsWithoutSpreadGiveExactlyZero) {
  const at::Tensor equal = floats({0.1f, 0.1f, 0.1f, 0.7f});
  const Groups groups{longs({0, 0, 0, 1}), 2};  // the second has one response only
  for (const at::Tensor& advantage :
       {grpo(equal, groups, 1e-6, Scale::group), dr_grpo(equal, groups), rloo(equal, groups)}) {
    EXPECT_TRUE(at::equal(advantage, at::zeros({4}))) << advantage;
  }
}

TEST(GroupAdvantage, TheOthers) {
  expect_near(dr_grpo(scores(), two_groups()), {0.5f, -0.5f, 0.25f, -0.25f});
  expect_near(rloo(scores(), two_groups()), {1, -1, 0.5f, -0.5f});
  expect_near(opo(scores(), floats({3, 4, 2, 3}), two_groups()), {0.571429f, -0.428571f, 0.3f, -0.2f});
  expect_near(gpg(scores(), two_groups()), {0.666667f, -0.666667f, 0.333333f, -0.333333f});
  expect_near(pass_at_k(scores(), two_groups()), {1.414212f, 0, 1.414210f, 0});
  expect_near(reinforce(scores(), false), {1, 0, 1, 0.5f});
  expect_near(reinforce(scores(), true), {0.375f, -0.625f, 0.375f, -0.125f});
}

TEST(TokenAdvantage, GaeAndItsWhitening) {
  const at::Tensor values = floats({.1f, .2f, .3f, 9, 0, .1f, .2f, .3f, .5f, .4f, 9, 9, .2f, 9, .1f, .4f});
  const Gae result = gae(token_rewards(), values, mask(), offsets(), 1.0, 0.95);
  expect_near(result.advantage,
              {.82675f, .765f, .7f, 0, .028038f, -.07575f, -.185f, -.3f, .47f, .6f, 0, 0, .27525f, 0, .395f, .1f});
  expect_near(result.returns.slice(0, 12), {.47525f, 0, .495f, .5f});
  expect_near(whiten(result.advantage, mask()),
              {1.367443f, 1.207158f, 1.038437f, 0, -.705781f, -.975183f, -1.258764f, -1.557271f, .441424f, .778866f, 0,
               0, -.06409f, 0, .246746f, -.518987f});
}

TEST(TokenAdvantage, ReinforcePlusPlus) {
  expect_near(discounted_returns(token_rewards(), mask(), offsets(), 0.9),
              {.81f, .9f, 1, 0, 0, 0, 0, 0, .9f, 1, 0, 0, .405f, 0, .45f, .5f});
  const at::Tensor advantage = reinforce_pp(token_rewards(), mask(), offsets(), 0.9);
  expect_near(advantage.slice(0, 0, 5), {.747524f, .962524f, 1.201414f, 0, -1.187479f});
  const at::Tensor baseline = reinforce_pp_baseline(scores(), two_groups(), mask(), offsets());
  expect_near(baseline, {1.314056f, 1.314056f, 1.314056f, 0, -1.022044f, -1.022044f, -1.022044f, -1.022044f, .730031f,
                         .730031f, 0, 0, -.438019f, 0, -.438019f, -.438019f});
}

TEST(TokenAdvantage, RewardsGoToTheLastTrainedToken) {
  expect_near(on_last_token(scores(), mask(), offsets()), {0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, .5f});
  const at::Tensor none = at::zeros({2}, at::kBool);
  expect_near(on_last_token(floats({3}), none, longs({0, 2})), {0, 0});
}

TEST(TokenAdvantage, RemaxTakesTheGreedyRewardOff) {
  expect_near(remax(token_rewards(), floats({.5f, .25f}), two_groups(), mask(), offsets()),
              {.5f, .5f, .5f, 0, -.5f, -.5f, -.5f, -.5f, .75f, .75f, 0, 0, .25f, 0, .25f, .25f});
}

at::Tensor log_ratios() {
  return floats({0, .5f, -.5f, kNan, 0, 2, -1, .1f, .3f, -.1f, kNan, kNan, 1.5f, kNan, -.3f, 0});
}
at::Tensor advantages() { return floats({1, -1, 2, -.5f}).repeat_interleave(4); }
const PpoClip kGoldenClip{0.2, 0.28, 3.0};
const Denominators kGoldenDenominators{12, 4, 4};

TEST(PolicyLoss, PpoWithDualClip) {
  const PolicyLoss loss = ppo_loss(log_ratios(), at::zeros({16}), advantages(), kGoldenClip);
  expect_near(loss.loss, {-1, -1.28f, -.606531f, kNan, 1, 3, .8f, 1.105171f, -2.56f, -1.809675f, kNan, kNan, 1.5f, kNan,
                          .4f, .5f});
  EXPECT_NEAR(masked_mean(loss.clipped.to(at::kFloat), mask()).item<float>(), .333333f, 1e-6);
  EXPECT_NEAR(masked_mean(loss.clipped_lower.to(at::kFloat), mask()).item<float>(), .166667f, 1e-6);
  EXPECT_NEAR(masked_mean(loss.approx_kl, mask()).item<float>(), -.208333f, 1e-6);
}

TEST(PolicyLoss, EachAggregation) {
  const at::Tensor loss = ppo_loss(log_ratios(), at::zeros({16}), advantages(), kGoldenClip).loss;
  const std::pair<const char*, float> golden[] = {{"token_mean", .087414f},
                                                  {"token_sum", 1.048965f},
                                                  {"seq_mean_token_sum", .262241f},
                                                  {"seq_mean_token_mean", -.21768f},
                                                  {"seq_mean_token_sum_norm", .06556f}};
  for (const auto& [name, expected] : golden) {
    const at::Tensor weights = token_weights(*aggregate_from_name(name), mask(), response(), 4, kGoldenDenominators);
    EXPECT_NEAR(weighted_sum(loss, weights).item<float>(), expected, 1e-6) << name;
  }
  EXPECT_FALSE(aggregate_from_name("mean"));
}

// The loss and its gradient over the whole batch equal the sums over its responses taken one by one, in any order.
TEST(PolicyLoss, CuttingTheBatchChangesNothing) {
  for (const char* name :
       {"token_mean", "token_sum", "seq_mean_token_sum", "seq_mean_token_mean", "seq_mean_token_sum_norm"}) {
    const Aggregate kind = *aggregate_from_name(name);
    at::Tensor whole = log_ratios().clone().requires_grad_(true);
    const at::Tensor weights = token_weights(kind, mask(), response(), 4, kGoldenDenominators);
    const at::Tensor total = weighted_sum(ppo_loss(whole, at::zeros({16}), advantages(), kGoldenClip).loss, weights);
    total.backward();
    at::Tensor parts = log_ratios().clone().requires_grad_(true);
    double sum = 0;
    for (std::int64_t i : {2, 0, 3, 1}) {
      const auto row = [i](const at::Tensor& x) { return x.slice(0, 4 * i, 4 * i + 4); };
      const at::Tensor w = token_weights(kind, row(mask()), longs({0, 0, 0, 0}), 1, kGoldenDenominators);
      const at::Tensor part =
          weighted_sum(ppo_loss(row(parts), at::zeros({4}), row(advantages()), kGoldenClip).loss, w);
      part.backward();
      sum += part.item<float>();
    }
    EXPECT_NEAR(sum, total.item<float>(), 1e-6) << name;
    const at::Tensor valid = mask();
    EXPECT_TRUE(at::allclose(whole.grad().masked_select(valid), parts.grad().masked_select(valid), 0, 1e-7)) << name;
  }
}

TEST(PolicyLoss, Gspo) {
  // Ratios of the rows: e^0, e^0.275, e^0.1, e^0.4 = 1, 1.316531, 1.105171, 1.491825. With clip .2/.28 the row losses
  // are −1, 1.316531, −2·1.105171, .5·1.491825; their mean −.286975.
  const PolicyLoss loss = gspo_loss(log_ratios(), at::zeros({16}), advantages(), mask(), response(), 4, kGoldenClip);
  const at::Tensor weights = token_weights(Aggregate::seq_mean_token_mean, mask(), response(), 4, kGoldenDenominators);
  EXPECT_NEAR(weighted_sum(loss.loss, weights).item<float>(), -.286975f, 1e-6);
}

// Below ℓ = d − 3 and ℓ_old = −3; expected values evaluated from the formulas with numpy.
at::Tensor logprobs() { return log_ratios() - 3; }
at::Tensor old_logprobs() { return at::full({16}, -3.0f); }

TEST(PolicyLoss, Cispo) {
  const PolicyLoss loss = cispo_loss(logprobs(), old_logprobs(), advantages(), kGoldenClip);
  expect_near(loss.loss, {3, 3.2f, 2.8f, kNan, -3, -1.28f, -3.2f, -3.204996f, 6.912f, 5.609992f, kNan, kNan, -.96f,
                          kNan, -1.32f, -1.5f});
  EXPECT_NEAR(masked_mean(loss.clipped.to(at::kFloat), mask()).item<float>(), 7.0f / 12, 1e-6);
}

TEST(PolicyLoss, Sapo) {
  expect_near(sapo_loss(logprobs(), old_logprobs(), advantages()).loss,
              {-2, -2.626889f, -1.611530f, kNan, 1.904762f, 3.804880f, 1.294869f, 2.009826f, -4.692667f, -3.809818f,
               kNan, kNan, 1.856780f, kNan, .823584f, .952381f});
}

TEST(PolicyLoss, GmpoTakesTheGeometricMeanOfBoundedRatios) {
  const PolicyLoss loss =
      gmpo_loss(logprobs(), old_logprobs(), advantages(), mask(), response(), 4, {0.2, 0.28, std::nullopt});
  expect_near(loss.loss, {-.929291f, -.929291f, -.929291f, kNan, 1.608014f, 1.608014f, 1.608014f, 1.608014f, -2.188349f,
                          -2.188349f, kNan, kNan, .771195f, kNan, .771195f, .771195f});
  EXPECT_NEAR(masked_mean(loss.clipped.to(at::kFloat), mask()).item<float>(), 4.0f / 12, 1e-6);
}

TEST(PolicyLoss, Reinforce) {
  expect_near(reinforce_loss(logprobs(), old_logprobs(), advantages()).loss,
              {3, 2.5f, 3.5f, kNan, -3, -1, -4, -2.9f, 5.4f, 6.2f, kNan, kNan, -.75f, kNan, -1.65f, -1.5f});
}

TEST(PolicyLoss, DppoDropsWhatMovedTooFar) {
  const std::vector<float> golden = {3,          4.121803f,  2.122857f,  kNan,      -3,   -7.389056f,
                                     0,          -3.204996f, 7.289238f,  5.609992f, kNan, kNan,
                                     -3.361267f, kNan,       -1.222350f, -1.5f};
  const auto loss = [&](Divergence divergence, double low, double high) {
    return dppo_loss(logprobs(), old_logprobs(), advantages(), divergence, {low, high, std::nullopt});
  };
  // p_old = 0.0498; of the falling tokens with A < 0 only d = −1 leaves the region, by 0.0315 or a KL of 0.0188.
  expect_near(loss(Divergence::total_variation, .02, .05).loss, golden);
  expect_near(loss(Divergence::binary_kl, .004, .01).loss, golden);
  EXPECT_NEAR(masked_mean(loss(Divergence::binary_kl, .004, .01).clipped.to(at::kFloat), mask()).item<float>(),
              1.0f / 12, 1e-6);
  // A rising token with A > 0 is bounded too: d = 0.5 has a KL of 0.00797.
  EXPECT_EQ(loss(Divergence::binary_kl, .004, .007).loss[1].item<float>(), 0);
  EXPECT_EQ(loss(Divergence::total_variation, .02, .03).loss[1].item<float>(), 0);  // it rose by 0.0323
}

// Covariances of the example: 1.359375 is the largest and the only one between 1 and 5, token 6.
TEST(PolicyLoss, TokensThatCollapseTheEntropyAreChosen) {
  const at::Tensor safe = at::where(mask(), logprobs(), at::zeros({16}));
  at::Tensor sixth = at::zeros({16}, at::kBool);
  sixth[6] = true;
  const at::Tensor rank = at::arange(16, at::kLong).flip(0);
  EXPECT_TRUE(at::equal(kl_cov_choice(safe, advantages(), mask()), sixth));
  EXPECT_TRUE(
      at::equal(clip_cov_choice(safe, old_logprobs(), advantages(), mask(), rank, {1.0, 1.0, std::nullopt}), sixth));
  // PPO's clip has hold of it already: ρ = e^−1 with A < 0.
  EXPECT_FALSE(clip_cov_choice(safe, old_logprobs(), advantages(), mask(), rank, kGoldenClip).any().item<bool>());

  const at::Tensor clipped =
      clip_cov_loss(logprobs(), old_logprobs(), advantages(), sixth, {1.0, 1.0, std::nullopt}).loss;
  EXPECT_EQ(clipped[6].item<float>(), 0);
  EXPECT_NEAR(clipped[7].item<float>(), 1.105171, 1e-6);
  const at::Tensor pulled = kl_cov_loss(logprobs(), old_logprobs(), advantages(), sixth).loss;
  EXPECT_NEAR(pulled[6].item<float>(), std::exp(-1.0f) + 1, 1e-6);
  EXPECT_NEAR(pulled[7].item<float>(), 1.105171, 1e-6);
}

using Loss = std::function<at::Tensor(const at::Tensor& logprob)>;

// Each with smooth ratios around 1, so that no branch changes within the difference.
std::map<std::string, Loss> losses_of(const at::Tensor& old, const at::Tensor& a, const at::Tensor& m,
                                      const at::Tensor& owner, std::int64_t owners, const at::Tensor& chosen) {
  return {{"ppo", [=](const at::Tensor& l) { return ppo_loss(l, old, a, kGoldenClip).loss; }},
          {"sapo", [=](const at::Tensor& l) { return sapo_loss(l, old, a).loss; }},
          {"gmpo", [=](const at::Tensor& l) { return gmpo_loss(l, old, a, m, owner, owners, kGoldenClip).loss; }},
          {"reinforce", [=](const at::Tensor& l) { return reinforce_loss(l, old, a).loss; }},
          {"clip_cov", [=](const at::Tensor& l) { return clip_cov_loss(l, old, a, chosen, kGoldenClip).loss; }},
          {"kl_cov", [=](const at::Tensor& l) { return kl_cov_loss(l, old, a, chosen).loss; }}};
}

TEST(PolicyLoss, GradientsAreFiniteDifferences) {
  const at::Tensor l = (logprobs().nan_to_num(-1) + 0.013).to(at::kDouble), old = old_logprobs().to(at::kDouble);
  const at::Tensor a = advantages().to(at::kDouble), chosen = at::arange(16, at::kLong) % 3 == 0;
  const at::Tensor weight =
      token_weights(Aggregate::seq_mean_token_mean, mask(), response(), 4, kGoldenDenominators).to(at::kDouble);
  for (const auto& [name, loss] : losses_of(old, a, mask(), response(), 4, chosen)) {
    const auto total = [&](const at::Tensor& x) { return weighted_sum(loss(x), weight); };
    at::Tensor leaf = l.clone().requires_grad_(true);
    total(leaf).backward();
    for (std::int64_t t = 0; t < 16; ++t) {
      const double h = 1e-5;
      at::Tensor up = l.clone(), down = l.clone();
      up[t] += h;
      down[t] -= h;
      const double slope = (total(up).item<double>() - total(down).item<double>()) / (2 * h);
      EXPECT_NEAR(leaf.grad()[t].item<double>(), slope, 1e-6 * (1 + std::abs(slope))) << name << " token " << t;
    }
  }
}

// What carries a weight without gradient: dL/dℓ = −A·weight.
TEST(PolicyLoss, WeightsThatAreHeldFixedHaveNoGradient) {
  at::Tensor leaf = logprobs().nan_to_num(-1).requires_grad_(true);
  cispo_loss(leaf, old_logprobs(), advantages(), kGoldenClip).loss.sum().backward();
  const at::Tensor ratio = at::exp(leaf.detach() + 3);
  EXPECT_TRUE(at::allclose(leaf.grad(), -advantages() * at::clamp(ratio, .8, 1.28), 1e-5, 1e-6));
  leaf = logprobs().nan_to_num(-1).requires_grad_(true);
  dppo_loss(leaf, old_logprobs(), advantages(), Divergence::total_variation, {1, 1, std::nullopt})
      .loss.sum()
      .backward();
  EXPECT_TRUE(at::allclose(leaf.grad(), -advantages() * at::clamp_max(ratio, 20), 1e-5, 1e-6));
}

TEST(PolicyLoss, CuttingTheBatchChangesNoLossUnderAnyAggregation) {
  const at::Tensor l = logprobs().nan_to_num(-1).to(at::kDouble), old = old_logprobs().to(at::kDouble);
  const at::Tensor a = advantages().to(at::kDouble), chosen = at::arange(16, at::kLong) % 3 == 0;
  for (const char* aggregation :
       {"token_mean", "token_sum", "seq_mean_token_sum", "seq_mean_token_mean", "seq_mean_token_sum_norm"}) {
    const Aggregate kind = *aggregate_from_name(aggregation);
    for (const auto& [name, loss] : losses_of(old, a, mask(), response(), 4, chosen)) {
      at::Tensor whole = l.clone().requires_grad_(true), parts = l.clone().requires_grad_(true);
      const at::Tensor total =
          weighted_sum(loss(whole), token_weights(kind, mask(), response(), 4, kGoldenDenominators).to(at::kDouble));
      total.backward();
      double sum = 0;
      for (std::int64_t i : {2, 0, 3, 1}) {
        const auto row = [i](const at::Tensor& x) { return x.slice(0, 4 * i, 4 * i + 4); };
        const at::Tensor w =
            token_weights(kind, row(mask()), longs({0, 0, 0, 0}), 1, kGoldenDenominators).to(at::kDouble);
        const auto cut = losses_of(row(old), row(a), row(mask()), longs({0, 0, 0, 0}), 1, row(chosen));
        const at::Tensor part = weighted_sum(cut.at(name)(row(parts)), w);
        part.backward();
        sum += part.item<double>();
      }
      EXPECT_NEAR(sum, total.item<double>(), 1e-10) << name << " " << aggregation;
      EXPECT_LE((whole.grad() - parts.grad()).norm().item<double>(), 1e-10) << name << " " << aggregation;
    }
  }
}

// x = [0.2 −0.1 0.4 | 1 −2 0 0.5]; token 1 is masked.
TEST(OffPolicy, WeightsAndMetrics) {
  const TokenRatios r{floats({.2f, -.1f, .4f, 1, -2, 0, .5f}), floats({1, 0, 1, 1, 1, 1, 1}) > 0,
                      longs({0, 0, 0, 1, 1, 1, 1}), 2};
  expect_near(truncated(r, 1.5), {1.221403f, .904837f, 1.491825f, 1.5f, .135335f, 1, 1.5f});
  // Σ of the responses: 0.6 and −0.5.
  expect_near(truncated_by_response(r, 1.5), {1.5f, 1.5f, 1.5f, .606531f, .606531f, .606531f, .606531f});
  expect_near(masked_outside(r, .5, 1.5), {1.221403f, .904837f, 1.491825f, 0, 0, 1, 0});
  // Means of k1: −0.3 and 0.125; of k2: 0.05 and 0.65625.
  expect_near(rejected_beyond(r, Distance::k1, 0.1), {1, 1, 1, 0, 0, 0, 0});
  expect_near(rejected_beyond(r, Distance::k2, 0.6), {1, 1, 1, 0, 0, 0, 0});
  expect_near(rejected_beyond(r, Distance::k2, 0.7), {1, 1, 1, 1, 1, 1, 1});
  const OffPolicyMetrics metrics = off_policy_metrics(r, truncated(r, 1.5));
  EXPECT_NEAR(metrics.kl, -.1 / 6, 1e-6);
  EXPECT_NEAR(metrics.k3, (.021403 + .091825 + .718282 + 1.135335 + 0 + .148721) / 6, 1e-6);
  EXPECT_NEAR(metrics.chi2, (.491825 + 1.225541 + 6.389056 - .981684 + 0 + 1.718282) / 6, 1e-5);
  EXPECT_NEAR(metrics.ess, 6.848563 * 6.848563 / (6 * 9.235682), 1e-5);
}

TEST(GroupAdvantage, GdpoComparesEachRewardByItself) {
  // grpo of [1 0 1 ½] is ±0.707106, ±0.707105, of [0 2 3 3] ∓0.707106 and 0: weighted 1 and ½ they add up to
  // ½·0.7071, −½·0.7071, 0.7071, −0.7071; mean 0, variance (¼ + ¼ + 1 + 1)·½ ÷ 3 = 0.416666.
  const at::Tensor advantage = gdpo({scores(), floats({0, 2, 3, 3})}, {1, .5}, two_groups(), 1e-6);
  expect_near(advantage, {.547722f, -.547722f, 1.095444f, -1.095444f}, 3e-6);
}

// At ratio 1 the two branches tie; the gradient is −A, not 0 and not half.
TEST(PolicyLoss, GradientAtRatioOneIsMinusTheAdvantage) {
  at::Tensor logprob = at::zeros({2}).requires_grad_(true);
  ppo_loss(logprob, at::zeros({2}), floats({1, -2}), {0.2, 0.2, std::nullopt}).loss.sum().backward();
  expect_near(logprob.grad(), {-1, 2});
}

TEST(Kl, EachKind) {
  const auto value = [](double delta, const char* kind) {
    return kl(floats({static_cast<float>(delta)}), at::zeros({1}), *kl_kind_from_name(kind)).item<float>();
  };
  EXPECT_NEAR(value(.5, "k1"), .5, 1e-6);
  EXPECT_NEAR(value(-.5, "abs"), .5, 1e-6);
  EXPECT_NEAR(value(.5, "k2"), .125, 1e-6);
  EXPECT_NEAR(value(.5, "k3"), .106531, 1e-6);
  EXPECT_NEAR(value(-.5, "k3"), .148721, 1e-6);
  EXPECT_NEAR(value(3, "k3"), 2.049787, 1e-6);
  EXPECT_NEAR(value(-5, "k3"), 10, 1e-6);
  EXPECT_FALSE(kl_kind_from_name("k4"));
}

TEST(Kl, PlusKindsHaveTheGradientOfK2) {
  for (const char* kind : {"k1_plus", "abs_plus", "k3_plus"}) {
    at::Tensor logprob = floats({-.5f}).requires_grad_(true);
    const at::Tensor value = kl(logprob, at::zeros({1}), *kl_kind_from_name(kind));
    value.sum().backward();
    EXPECT_NEAR(logprob.grad().item<float>(), -.5, 1e-6) << kind;
  }
  EXPECT_NEAR(kl(floats({-.5f}), at::zeros({1}), KlKind::k3_plus).item<float>(), .148721, 1e-6);
}

TEST(Kl, CoefficientMovesByAtMostAFifthOfItsShare) {
  EXPECT_NEAR(adapted_kl_coefficient(0.1, 0.11, 0.1, 100, 1000), 0.1 * (1 + 0.1 * 0.1), 1e-12);
  EXPECT_NEAR(adapted_kl_coefficient(0.1, 5, 0.1, 100, 1000), 0.1 * (1 + 0.2 * 0.1), 1e-12);
  EXPECT_NEAR(adapted_kl_coefficient(0.1, 0, 0.1, 100, 1000), 0.1 * (1 - 0.2 * 0.1), 1e-12);
}

TEST(ValueLoss, Clipped) {
  const at::Tensor values = floats({.1f, .2f, .3f, 9, 0, .1f, .2f, .3f, .5f, .4f, 9, 9, .2f, 9, .1f, .4f});
  const at::Tensor returns = gae(token_rewards(), values, mask(), offsets(), 1.0, 0.95).returns;
  const at::Tensor fresh = floats({.9f, .2f, -.4f, 0, 0, .8f, .2f, .3f, 1.5f, .4f, 0, 0, .2f, 0, -.6f, .4f});
  const ValueLoss loss = value_loss(fresh, values, returns, 0.5);
  EXPECT_NEAR(masked_mean(loss.loss, mask()).item<float>(), .22102f, 1e-5);
  EXPECT_NEAR(masked_mean(loss.clipped.to(at::kFloat), mask()).item<float>(), .083333f, 1e-6);
}

// margin 0.1·((−3 + 4) − (−5 + 4.5)) = 0.15, −ln σ(0.15) = 0.620957; equal log-ratios cost ln 2.
TEST(PairLoss, Dpo) {
  const at::Tensor chosen = at::tensor({-3.0f, -7.0f}).set_requires_grad(true);
  const at::Tensor rejected = at::tensor({-5.0f, -9.0f});
  const PairLoss pair = dpo_loss(chosen, rejected, at::tensor({-4.0f, -6.0f}), at::tensor({-4.5f, -8.0f}), 0.1);
  EXPECT_NEAR(pair.margin[0].item<double>(), 0.15, 1e-6);
  EXPECT_NEAR(pair.loss[0].item<double>(), 0.620957, 1e-6);
  EXPECT_NEAR(pair.loss[1].item<double>(), 0.693147, 1e-6);
  pair.loss.sum().backward();
  EXPECT_NEAR(chosen.grad()[0].item<double>(), -0.1 * 0.462570, 1e-6);  // −β·σ(−margin)
  EXPECT_NEAR(chosen.grad()[1].item<double>(), -0.05, 1e-6);
}

TEST(Masked, NothingUnderAFalseMaskIsRead) {
  const at::Tensor x = floats({1, kNan, 3});
  const at::Tensor m = floats({1, 0, 1}) > 0;
  EXPECT_NEAR(masked_mean(x, m).item<float>(), 2, 1e-6);
  expect_near(whiten(x, m), {-.707107f, 0, .707107f});
  EXPECT_NEAR(weighted_sum(x, m.to(at::kFloat)).item<float>(), 4, 1e-6);
  EXPECT_TRUE(at::equal(whiten(floats({5, 7}), floats({1, 0}) > 0), at::zeros({2})));
}

TEST(Entropy, UniformAndCertain) {
  expect_near(entropy(at::zeros({1, 4})), {std::log(4.0f)});
  expect_near(entropy(floats({100, 0, 0, 0}).view({1, 4})), {0});
}

}  // namespace
}  // namespace rlflow::algo
