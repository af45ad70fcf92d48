// Which responses stay, and do the rounds of a refill become one batch?
#include "nodes/filter_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nodes/payload_cast.h"

namespace rlflow {
namespace {

using ::testing::ElementsAre;

struct Round {
  std::shared_ptr<Rollouts> traj;
  std::shared_ptr<Numbers> reward;
};

// `prompts` prompts named from `first` on, two responses each of one token, which is the number of the response. Those
// of `cut` have no end.
Round round_of(std::int32_t first, std::int32_t prompts, std::vector<float> rewards,
               std::vector<std::size_t> cut = {}) {
  auto batch = std::make_shared<BatchDescriptor>();
  auto texts = std::make_shared<Prompts>();
  auto traj = std::make_shared<Rollouts>();
  for (std::int32_t p = 0; p < prompts; ++p) {
    texts->tokens.push_row(std::vector<std::int32_t>{first + p});
    texts->source_row.push_back(first + p);
    texts->text.push_back("prompt " + std::to_string(first + p));
    texts->answer.push_back(std::to_string(first + p));
    for (std::int32_t i = 0; i < 2; ++i) {
      batch->group.push_back(p);
      batch->finish.push_back(static_cast<std::uint8_t>(FinishReason::end));
      batch->mask.push_back(1);
      traj->tokens.push_back(100 * (first + p) + i);
      traj->logprob.push_back(-static_cast<float>(i));
      batch->offsets.push_back(static_cast<std::int64_t>(traj->tokens.size()));
    }
  }
  for (std::size_t row : cut) batch->finish[row] = static_cast<std::uint8_t>(FinishReason::length);
  traj->batch = batch;
  traj->prompts = texts;
  traj->version = 3;
  return {traj, std::make_shared<Numbers>(Kind::reward, batch, false, std::move(rewards))};
}

Plan plan_of(const char* op, const char* drop, std::optional<std::int64_t> wanted) {
  PlanNode node;
  node.name = "traj";
  node.op = node.signature = op;
  node.settings["drop"] = Value(Word{drop});
  if (wanted) node.constants["wanted"] = Value(*wanted);
  Plan plan;
  plan.nodes.push_back(node);
  return plan;
}

TaskResult filtered(const std::vector<Round>& rounds, const char* drop, std::optional<std::int64_t> wanted = {}) {
  TaskInputs inputs;
  for (const Round& round : rounds) {
    inputs.payloads.push_back(round.traj);
    inputs.payloads.push_back(round.reward);
  }
  return make_filter_node(plan_of("filter", drop, wanted), NodeId(0))->run(inputs, {});
}

double metric(const TaskResult& result, const std::string& name) {
  for (const Metric& m : result.metrics) {
    if (m.name == name) return m.value;
  }
  ADD_FAILURE() << "no metric " << name;
  return -1;
}

TEST(Filter, GroupsWhoseRewardsAreAllEqualAreDropped) {
  const Round all = round_of(0, 3, {1, 1, 0, 1, 0, 0});
  const TaskResult result = filtered({all}, "uniform_groups");
  const auto& traj = dynamic_cast<const Rollouts&>(*result.outputs[0]);
  const auto& reward = dynamic_cast<const Numbers&>(*result.outputs[1]);
  EXPECT_THAT(traj.batch->group, ElementsAre(1, 1));
  EXPECT_THAT(traj.tokens, ElementsAre(100, 101));
  EXPECT_THAT(traj.logprob, ElementsAre(0, -1));
  EXPECT_THAT(traj.batch->offsets, ElementsAre(0, 1, 2));
  EXPECT_THAT(reward.data, ElementsAre(0, 1));
  EXPECT_EQ(reward.batch, traj.batch);
  EXPECT_EQ(traj.prompts, all.traj->prompts);
  EXPECT_EQ(traj.version, 3);
  EXPECT_EQ(metric(result, "groups"), 1);
  EXPECT_EQ(metric(result, "dropped"), 2);
}

TEST(Filter, ResponsesWithoutAnEndAreDroppedOneByOne) {
  const TaskResult result = filtered({round_of(0, 2, {1, 0, 1, 1}, {1, 2, 3})}, "overlong");
  const auto& traj = dynamic_cast<const Rollouts&>(*result.outputs[0]);
  EXPECT_THAT(traj.batch->group, ElementsAre(0));
  EXPECT_EQ(metric(result, "dropped"), 3);
}

TEST(Filter, RoundsBecomeOneBatchWithPromptsNumberedThrough) {
  const std::vector<Round> rounds = {round_of(0, 3, {1, 1, 0, 1, 0, 0}), round_of(3, 2, {1, 1, 1, 0}),
                                     round_of(5, 1, {0, 1})};
  const TaskResult result = filtered(rounds, "uniform_groups", 3);
  const auto& traj = dynamic_cast<const Rollouts&>(*result.outputs[0]);
  EXPECT_THAT(traj.batch->group, ElementsAre(1, 1, 4, 4, 5, 5));
  EXPECT_THAT(traj.tokens, ElementsAre(100, 101, 400, 401, 500, 501));
  EXPECT_THAT(traj.prompts->source_row, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(traj.prompts->text[4], "prompt 4");
  EXPECT_THAT(dynamic_cast<const Numbers&>(*result.outputs[1]).data, ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_EQ(metric(result, "groups"), 3);
  EXPECT_EQ(metric(result, "rounds"), 2);
  EXPECT_EQ(metric(result, "missing"), 0);
  EXPECT_TRUE(result.warnings.empty());
}

TEST(Filter, ARoundThatSampledNothingAddsNothing) {
  const TaskResult result = filtered({round_of(0, 1, {0, 1}), round_of(1, 0, {})}, "uniform_groups", 1);
  EXPECT_EQ(metric(result, "rounds"), 0);
  EXPECT_EQ(dynamic_cast<const Rollouts&>(*result.outputs[0]).batch->size(), 2u);
}

TEST(Filter, GroupsThatAreStillMissingAreCountedAndTold) {
  const TaskResult result = filtered({round_of(0, 2, {1, 1, 0, 0}), round_of(2, 2, {1, 1, 1, 0})}, "uniform_groups", 2);
  EXPECT_EQ(metric(result, "missing"), 1);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].find("`traj.missing`"), std::string::npos) << result.warnings[0];
}

// A group that a judge dropped is in the trajectory and not in the rewards.
TEST(Filter, AGroupWithoutRewardsIsMissingToo) {
  Round round = round_of(0, 2, {1, 0, 1, 0});
  round.reward = round_of(0, 1, {1, 0}).reward;
  const TaskResult result = filtered({round}, "uniform_groups", 2);
  EXPECT_EQ(dynamic_cast<const Rollouts&>(*result.outputs[0]).batch->size(), 2u);
  EXPECT_EQ(metric(result, "missing"), 1);
}

TEST(Refill, CountsTheGroupsThatAreMissingAfterTheRoundsSoFar) {
  const auto missing = [](std::vector<Round> rounds) {
    TaskInputs inputs;
    for (const Round& round : rounds) inputs.payloads.push_back(round.reward);
    const TaskResult result = make_refill_node(plan_of("refill", "uniform_groups", 4), NodeId(0))->run(inputs, {});
    return dynamic_cast<const Scalar&>(*result.outputs[0]).value;
  };
  EXPECT_EQ(missing({round_of(0, 4, {1, 0, 1, 0, 1, 1, 0, 0})}), 2);
  EXPECT_EQ(missing({round_of(0, 4, {1, 0, 1, 0, 1, 1, 0, 0}), round_of(4, 2, {1, 1, 0, 1})}), 1);
  EXPECT_EQ(missing({round_of(0, 4, {1, 0, 1, 0, 1, 0, 0, 1})}), 0);
}

}  // namespace
}  // namespace rlflow
