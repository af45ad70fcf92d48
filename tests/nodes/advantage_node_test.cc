// Does the node advantage compare each response with the others of its prompt?
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nodes/advantage_node.h"
#include "nodes/batches.h"
#include "nodes/combine_node.h"
#include "nodes/token_advantage_node.h"

namespace rlflow {
namespace {

std::unique_ptr<Node> advantage_node(const std::string& estimator, const std::string& scale = "group") {
  Plan plan;
  plan.nodes.resize(1);
  plan.nodes[0].settings = {{"estimator", Value(Word{estimator})},
                            {"eps", Value(1e-6)},
                            {"scale", Value(Word{scale})},
                            {"subtract", Value(Word{"batch"})}};
  return make_advantage_node(plan, NodeId(0));
}

// Responses of two tokens each.
TaskInputs rewarded(std::vector<std::int32_t> group, std::vector<float> rewards, bool per_token = false) {
  auto batch = std::make_shared<BatchDescriptor>();
  for (std::size_t i = 0; i < group.size(); ++i) batch->offsets.push_back(static_cast<std::int64_t>(2 * i + 2));
  batch->mask.assign(2 * group.size(), 1);
  batch->finish.assign(group.size(), 0);
  batch->group = std::move(group);
  TaskInputs inputs;
  inputs.payloads = {std::make_shared<Numbers>(Kind::reward, batch, per_token, std::move(rewards))};
  return inputs;
}

// Prompts 1 to 4 gave no response.
TaskResult advantage_of(const std::string& estimator, std::vector<float> rewards, bool per_token = false) {
  return advantage_node(estimator)->run(rewarded({0, 0, 5, 5}, std::move(rewards), per_token), {});
}

std::vector<float> values(const TaskResult& result) { return dynamic_cast<const Numbers&>(*result.outputs.at(0)).data; }

TEST(AdvantageNode, EachEstimator) {
  const std::vector<float> grpo = values(advantage_of("grpo", {1, 0, 1, 0.5f}));
  EXPECT_NEAR(grpo[0], 0.707106, 1e-6);
  EXPECT_NEAR(grpo[3], -0.707105, 1e-6);
  EXPECT_EQ(values(advantage_of("dr_grpo", {1, 0, 1, 0.5f})), (std::vector<float>{0.5f, -0.5f, 0.25f, -0.25f}));
  EXPECT_EQ(values(advantage_of("rloo", {1, 0, 1, 0.5f})), (std::vector<float>{1, -1, 0.5f, -0.5f}));
  EXPECT_EQ(values(advantage_of("rloo", {0.5f, 0.5f, 0, 0, 1, 0, 0, 0.5f}, true)),
            (std::vector<float>{1, -1, 0.5f, -0.5f}));
  EXPECT_EQ(values(advantage_of("opo", {1, 0, 1, 0.5f})), (std::vector<float>{0.5f, -0.5f, 0.25f, -0.25f}));
  EXPECT_NEAR(values(advantage_of("gpg", {1, 0, 1, 0.5f}))[0], 0.666667, 1e-6);
  EXPECT_NEAR(values(advantage_of("pass_at_k", {1, 0, 1, 0.5f}))[2], 1.414210, 1e-6);
  EXPECT_EQ(values(advantage_of("reinforce", {1, 0, 1, 0.5f})), (std::vector<float>{0.375f, -0.625f, 0.375f, -0.125f}));
  // ±½ and ±¼ on two tokens each: mean 0, variance (4·¼ + 4·1/16) ÷ 7 = 0.178571.
  const std::vector<float> whitened = values(advantage_of("reinforce_pp_baseline", {1, 0, 1, 0.5f}));
  EXPECT_NEAR(whitened[0], 0.5 / std::sqrt(0.178571), 1e-5);
  EXPECT_NEAR(whitened[3], -0.25 / std::sqrt(0.178571), 1e-5);
}

TEST(AdvantageNode, SeveralRewards) {
  Plan plan;
  plan.nodes.resize(1);
  plan.nodes[0].name = "adv";
  plan.nodes[0].settings = {{"estimator", Value(Word{"gdpo"})}, {"eps", Value(1e-6)}, {"weights", List{1.0, 0.5}}};
  plan.nodes[0].inputs.resize(2);
  TaskInputs inputs = rewarded({0, 0, 5, 5}, {1, 0, 1, 0.5f});
  inputs.payloads.push_back(rewarded({0, 0, 5, 5}, {0, 2, 3, 3}).payloads[0]);
  EXPECT_NEAR(values(make_several_rewards_node(plan, NodeId(0))->run(inputs, {}))[2], 1.095444, 3e-6);
  plan.nodes[0].inputs.resize(3);
  EXPECT_THROW(make_several_rewards_node(plan, NodeId(0)), std::runtime_error);
}

TEST(CombineNode, AddsWeightedRewards) {
  Plan plan;
  plan.nodes.resize(1);
  plan.nodes[0].inputs.resize(2);
  TaskInputs inputs = rewarded({0, 0, 5, 5}, {1, 0, 1, 0.5f});
  inputs.payloads.push_back(rewarded({0, 0, 5, 5}, {0, 2, 3, 3}).payloads[0]);
  const auto combined = [&](const char* normalize) {
    plan.nodes[0].settings = {{"weights", List{1.0, 0.5}}, {"normalize", Value(Word{normalize})}};
    return values(make_combine_node(plan, NodeId(0))->run(inputs, {}));
  };
  EXPECT_EQ(combined("none"), (std::vector<float>{1, 1, 2.5f, 2}));
  EXPECT_NEAR(combined("group")[0], 0.707106 - 0.5 * 0.707106, 1e-5);
  EXPECT_NEAR(combined("group")[2], 0.707105, 1e-5);
  // (1 − 0.625)/0.478714 and (0 − 2)/√2.
  EXPECT_NEAR(combined("batch")[0], 0.783350 - 0.5 * 1.414214, 1e-5);
  inputs.payloads[1] = rewarded({0, 0, 5, 5}, {0, NAN, 3, 3}).payloads[0];
  EXPECT_THROW(combined("none"), NumericsError);
}

TEST(AdvantageNode, TheGreedyResponseOfThePromptIsTheBaseline) {
  TaskInputs inputs = rewarded({0, 0, 5, 5}, {1, 0, 1, 0.5f});
  inputs.payloads.push_back(rewarded({5, 0}, {0.25f, 0.5f}).payloads[0]);
  const auto node = make_baseline_advantage_node({}, NodeId(0));
  EXPECT_EQ(values(node->run(inputs, {})), (std::vector<float>{0.5f, 0.5f, -0.5f, -0.5f, 0.75f, 0.75f, 0.25f, 0.25f}));
  inputs.payloads[1] = rewarded({5}, {0.25f}).payloads[0];
  EXPECT_THROW(node->run(inputs, {}), std::runtime_error);
}

// Whatever groups were done beforehand, the batch gets the same bits; what was done is taken over, not done again.
TEST(AdvantageNode, GroupsDoneEarlyGiveTheBitsOfTheWhole) {
  const std::vector<std::int32_t> group = {0, 0, 0, 1, 1, 1, 2, 2, 2};
  const std::vector<float> rewards = {1, 0, 0.3f, 0.7f, 0.7f, 0.1f, -3, 1e-3f, 2};
  for (const char* estimator : {"grpo", "dr_grpo", "rloo", "opo", "pass_at_k"}) {
    std::unique_ptr<Node> node = advantage_node(estimator);
    ASSERT_TRUE(node->works_by_group());
    const std::vector<float> whole = values(node->run(rewarded(group, rewards), {}));
    for (unsigned done = 0; done < 8; ++done) {
      TaskInputs inputs = rewarded(group, rewards);
      inputs.early.resize(3);
      for (std::int32_t g = 0; g < 3; ++g) {
        if ((done >> g & 1) == 0) continue;
        const auto first = rewards.begin() + 3 * g;
        inputs.early[static_cast<std::size_t>(g)] =
            std::make_shared<TaskResult>(node->run(rewarded({g, g, g}, {first, first + 3}), {}));
      }
      EXPECT_EQ(values(node->run(inputs, {})), whole) << estimator << " " << done;
    }
  }
  TaskInputs inputs = rewarded(group, rewards);
  inputs.early = {std::make_shared<TaskResult>(advantage_node("rloo")->run(rewarded({0, 0, 0}, {7, 0, 0}), {}))};
  EXPECT_EQ(values(advantage_node("rloo")->run(inputs, {}))[0], 7);
}

TEST(AdvantageNode, WhatNeedsTheBatchDoesNotWorkByGroup) {
  EXPECT_FALSE(advantage_node("grpo", "batch")->works_by_group());
  for (const char* estimator : {"gpg", "reinforce", "reinforce_pp_baseline"})
    EXPECT_FALSE(advantage_node(estimator)->works_by_group()) << estimator;
}

TEST(AdvantageNode, ARewardThatIsNotFiniteStopsTheRun) {
  EXPECT_THROW(advantage_of("grpo", {1, std::numeric_limits<float>::quiet_NaN(), 1, 0}), NumericsError);
}

}  // namespace
}  // namespace rlflow
