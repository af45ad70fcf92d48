// Does a node see the same rows in all of its inputs when a prompt group was dropped?
#include "nodes/common_rows.h"

#include <gtest/gtest.h>

#include "nodes/metric_inputs.h"
#include "nodes/payload_cast.h"

namespace rlflow {
namespace {

// Keeps what it was given.
class Witness final : public Node {
 public:
  explicit Witness(TaskInputs& seen) : seen_(seen) {}
  bool retries_by_sample() const override { return true; }
  bool emits_groups() const override { return true; }
  bool works_by_group() const override { return true; }
  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    seen_ = inputs;
    return {};
  }

 private:
  TaskInputs& seen_;
};

// Groups 0, 1, 2 with responses of 1, 2 and 3 tokens, two each.
std::shared_ptr<Rollouts> rollouts() {
  auto batch = std::make_shared<BatchDescriptor>();
  auto traj = std::make_shared<Rollouts>();
  for (std::int32_t i = 0; i < 6; ++i) {
    batch->group.push_back(i / 2);
    batch->finish.push_back(static_cast<std::uint8_t>(i % 2));
    for (std::int32_t t = 0; t <= i / 2; ++t) {
      traj->tokens.push_back(10 * i + t);
      traj->logprob.push_back(-static_cast<float>(10 * i + t));
      batch->mask.push_back(static_cast<std::uint8_t>(t == 0));
    }
    batch->offsets.push_back(static_cast<std::int64_t>(traj->tokens.size()));
  }
  batch->temperature = 0.7;
  traj->batch = batch;
  traj->prompts = std::make_shared<Prompts>();
  traj->version = 4;
  return traj;
}

TaskInputs seen_with(std::vector<PayloadPtr> payloads) {
  TaskInputs inputs, seen;
  inputs.payloads = std::move(payloads);
  with_common_rows(std::make_unique<Witness>(seen))->run(inputs, {});
  return seen;
}

TEST(CommonRows, EveryInputIsCutToTheGroupsThatAllHave) {
  const auto traj = rollouts();
  const BatchPtr without_1 = without_groups(*traj->batch, {1});
  EXPECT_EQ(without_1->group, (std::vector<std::int32_t>{0, 0, 2, 2}));
  EXPECT_EQ(without_1->offsets, (std::vector<std::int64_t>{0, 1, 2, 5, 8}));
  EXPECT_EQ(without_1->mask, (std::vector<std::uint8_t>{1, 1, 1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(without_1->finish, (std::vector<std::uint8_t>{0, 1, 0, 1}));
  EXPECT_EQ(without_1->temperature, 0.7);
  const auto adv = std::make_shared<Numbers>(Kind::adv, without_1, false, std::vector<float>{1, 2, 3, 4});
  const auto old = std::make_shared<Numbers>(Kind::logp, traj->batch, true, traj->logprob);
  const auto score = std::make_shared<Numbers>(Kind::reward, traj->batch, false, std::vector<float>{0, 1, 2, 3, 4, 5});
  const TaskInputs seen = seen_with({nullptr, traj, adv, old, score});
  EXPECT_EQ(seen.payloads[0], nullptr);
  EXPECT_EQ(seen.payloads[2], adv);
  const auto& cut = input_as<Rollouts>(seen, 1);
  EXPECT_EQ(cut.tokens, (std::vector<std::int32_t>{0, 10, 40, 41, 42, 50, 51, 52}));
  EXPECT_EQ(cut.logprob, (std::vector<float>{0, -10, -40, -41, -42, -50, -51, -52}));
  EXPECT_EQ(cut.batch->group, without_1->group);
  EXPECT_EQ(cut.prompts, traj->prompts);
  EXPECT_EQ(cut.version, 4);
  EXPECT_EQ(input_as<Numbers>(seen, 3).data, cut.logprob);
  EXPECT_EQ(input_as<Numbers>(seen, 4).data, (std::vector<float>{0, 1, 4, 5}));
}

// Two batches of the same prompts, one greedy response each beside two sampled ones: nothing was dropped.
TEST(CommonRows, OtherNumbersOfResponsesAreLeftAlone) {
  const auto traj = rollouts();
  auto greedy = std::make_shared<BatchDescriptor>();
  greedy->group = {0, 1, 2};
  greedy->offsets = {0, 1, 2, 3};
  greedy->mask = {1, 1, 1};
  greedy->finish = {0, 0, 0};
  const auto baseline = std::make_shared<Numbers>(Kind::reward, greedy, false, std::vector<float>{1, 2, 3});
  const TaskInputs seen = seen_with({traj, baseline});
  EXPECT_EQ(seen.payloads[0], traj);
  EXPECT_EQ(seen.payloads[1], baseline);
}

// A node that read a metric kept to no `retry` of its own any more: what stood before it did not say so.
TEST(CommonRows, WhatStandsBeforeANodeSaysWhatItSays) {
  TaskInputs seen;
  Plan plan;
  plan.nodes.resize(1);
  plan.nodes[0].inputs.push_back({NodeId(0), 0, true, 0.0, "loss"});
  std::unique_ptr<Node> node = with_metric_inputs(with_common_rows(std::make_unique<Witness>(seen)), plan, NodeId(0));
  EXPECT_TRUE(node->retries_by_sample());
  EXPECT_TRUE(node->emits_groups());
  EXPECT_TRUE(node->works_by_group());
}

}  // namespace
}  // namespace rlflow
