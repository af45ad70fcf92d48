// Do take, take_examples, score and advantage do what the language says, step after step?
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nodes/advantage_node.h"
#include "nodes/batches.h"
#include "nodes/data/addition.h"
#include "nodes/format/tokenizer.h"
#include "nodes/score_node.h"
#include "nodes/take_node.h"

namespace rlflow {
namespace {

// A plan of one node with the tiny tokenizer, the data set `sums` and the reward `exact`.
Plan plan_of_one() {
  Plan plan;
  plan.root = RLFLOW_SOURCE_DIR;
  PlanModel model;
  model.name = "policy";
  model.path = "models/tiny";
  plan.models = {model};
  PlanData data;
  data.name = "sums";
  data.source = "builtin";
  data.argument = "addition";
  data.settings = {{"seed", Value(std::int64_t{1})}, {"digits", Value(Range{2, 2})}, {"split", Value(Word{"train"})},
                   {"shuffle", Value(false)},        {"worked", Value(1.0)},         {"forget_carry", Value(0.0)}};
  plan.data = {data};
  PlanReward reward;
  reward.name = "exact";
  reward.source = "builtin";
  reward.argument = "exact_answer";
  plan.rewards = {reward};
  PlanNode node;
  node.name = "batch";
  node.tokenizer = ModelId(0);
  node.data = DataId(0);
  node.reward = RewardId(0);
  node.constants = {{"count", Value(std::int64_t{4})}};
  plan.nodes = {node};
  return plan;
}

Tokenizer tiny_tokenizer() { return read_tokenizer(std::string(RLFLOW_SOURCE_DIR) + "/models/tiny"); }

template <class T>
std::shared_ptr<const T> output(const TaskResult& result, std::size_t index) {
  auto payload = std::dynamic_pointer_cast<const T>(result.outputs.at(index));
  EXPECT_TRUE(payload);
  return payload;
}

TEST(TakeNode, TakesTheRowsOfTheDataSetInOrder) {
  const Plan plan = plan_of_one();
  const auto node = make_take_node(plan, NodeId(0));
  const TaskResult first = node->run({}, {});
  const auto prompts = output<Prompts>(first, 0);
  AdditionSettings settings;
  settings.min_digits = settings.max_digits = 2;
  settings.seed = 1;
  const Addition sums(settings);
  const Tokenizer tokenizer = tiny_tokenizer();
  ASSERT_EQ(prompts->tokens.rows(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const DataRow row = sums.row(static_cast<std::int64_t>(i));
    EXPECT_EQ(prompts->text[i], row.prompt);
    EXPECT_EQ(prompts->answer[i], row.answer);
    EXPECT_EQ(prompts->source_row[i], static_cast<std::int64_t>(i));
    EXPECT_EQ(prompts->tokens.row(i)[0], tokenizer.bos());
    EXPECT_EQ(tokenizer.decode(prompts->tokens.row(i).subspan(1)), row.prompt);
  }
  TaskInputs second;
  second.carried = first.outputs.at(1);
  EXPECT_EQ(output<Prompts>(node->run(second, {}), 0)->source_row, (std::vector<std::int64_t>{4, 5, 6, 7}));
}

TEST(TakeNode, BatchesStraddleEpochs) {
  Plan plan = plan_of_one();
  plan.data[0].settings["size"] = Value(std::int64_t{3});
  const auto node = make_take_node(plan, NodeId(0));
  const TaskResult result = node->run({}, {});
  EXPECT_EQ(output<Prompts>(result, 0)->source_row, (std::vector<std::int64_t>{0, 1, 2, 0}));
  const auto cursor = output<Cursor>(result, 1);
  EXPECT_EQ(cursor->epoch, 1);
  EXPECT_EQ(cursor->offset, 1);
}

// What a resumed run has: a new node object and the cursor read from the store.
TEST(TakeNode, KeepsNothingButItsCursor) {
  Plan plan = plan_of_one();
  plan.data[0].settings["size"] = Value(std::int64_t{10});
  plan.data[0].settings["shuffle"] = Value(true);
  const auto node = make_take_node(plan, NodeId(0));
  TaskInputs inputs;
  std::vector<std::vector<std::int64_t>> rows;
  PayloadPtr after_three;
  for (int step = 0; step < 5; ++step) {
    const TaskResult result = node->run(inputs, {});
    rows.push_back(output<Prompts>(result, 0)->source_row);
    inputs.carried = result.outputs.at(1);
    if (step == 2) after_three = inputs.carried;
  }
  TaskInputs resumed;
  resumed.carried = after_three;
  EXPECT_EQ(output<Prompts>(make_take_node(plan, NodeId(0))->run(resumed, {}), 0)->source_row, rows[3]);
}

TEST(TakeNode, ShuffleNeedsASize) {
  Plan plan = plan_of_one();
  plan.data[0].settings["shuffle"] = Value(true);
  EXPECT_THROW(make_take_node(plan, NodeId(0)), std::runtime_error);
}

TEST(TakeExamplesNode, MasksThePromptAndEndsTheResponse) {
  const Plan plan = plan_of_one();
  const TaskResult result = make_take_examples_node(plan, NodeId(0))->run({}, {});
  const auto examples = output<Examples>(result, 0);
  const Tokenizer tokenizer = tiny_tokenizer();
  ASSERT_EQ(examples->tokens.rows(), 4u);
  std::size_t at = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto row = examples->tokens.row(i);
    const std::string text = tokenizer.decode(row);
    const std::size_t end_of_prompt = text.find('=') + 1;
    EXPECT_TRUE(text.starts_with("<bos>")) << text;
    EXPECT_TRUE(
        text.ends_with(">" + std::to_string(std::stoi(text.substr(5, 2)) + std::stoi(text.substr(8, 2))) + "<eos>"))
        << text;
    std::string trained;
    for (std::size_t t = 0; t < row.size(); ++t, ++at) {
      if (examples->loss_mask[at] != 0) trained += tokenizer.decode(row.subspan(t, 1));
    }
    EXPECT_EQ(trained, text.substr(end_of_prompt));
  }
}

// Two prompts with two responses each; "5" is the answer to the first, "9" to the second.
std::shared_ptr<Rollouts> four_responses(const std::vector<std::string>& texts, const std::vector<bool>& ended) {
  const Tokenizer tokenizer = tiny_tokenizer();
  auto prompts = std::make_shared<Prompts>();
  prompts->tokens.push_row(tokenizer.encode_prompt("2+3="));
  prompts->tokens.push_row(tokenizer.encode_prompt("4+5="));
  prompts->source_row = {0, 1};
  prompts->text = {"2+3=", "4+5="};
  prompts->answer = {"5", "9"};
  auto batch = std::make_shared<BatchDescriptor>();
  batch->group = {0, 0, 1, 1};
  auto rollouts = std::make_shared<Rollouts>();
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::int32_t id : tokenizer.encode(texts[i])) rollouts->tokens.push_back(id);
    if (ended[i]) rollouts->tokens.push_back(tokenizer.eos());
    batch->offsets.push_back(static_cast<std::int64_t>(rollouts->tokens.size()));
    batch->finish.push_back(ended[i] ? 0 : 1);
  }
  batch->mask.assign(rollouts->tokens.size(), 1);
  rollouts->logprob.assign(rollouts->tokens.size(), -1.0f);
  rollouts->batch = batch;
  rollouts->prompts = prompts;
  return rollouts;
}

TEST(ScoreNode, JudgesEachResponseAgainstItsPrompt) {
  TaskInputs inputs;
  inputs.payloads = {nullptr, four_responses({"5", "9", "<4+5=9>9", "9"}, {true, true, true, false})};
  const TaskResult result = make_score_node(plan_of_one(), NodeId(0))->run(inputs, {});
  const auto reward = output<Numbers>(result, 0);
  EXPECT_EQ(reward->kind(), Kind::reward);
  EXPECT_FALSE(reward->per_token);
  EXPECT_EQ(reward->data, (std::vector<float>{1, 0, 1, 0}));
  EXPECT_EQ(result.metrics[0].name, "reward/mean");
  EXPECT_EQ(result.metrics[0].value, 0.5);
  EXPECT_EQ(result.metrics[1].name, "reward/std");
  EXPECT_NEAR(result.metrics[1].value, 0.577350, 1e-6);  // √(4·¼ ÷ 3)
  ASSERT_EQ(result.samples.size(), 2u);
  EXPECT_EQ(result.samples[1].prompt, "4+5=");
  EXPECT_EQ(result.samples[1].response, "<4+5=9>9");
  EXPECT_EQ(result.samples[1].reward, 1.0);
}

TEST(ScoreNode, AFailedJudgementFailsTheTask) {
  auto rollouts = four_responses({"5", "9", "9", "9"}, {true, true, true, true});
  auto prompts = std::make_shared<Prompts>(*rollouts->prompts);
  prompts->answer[1].clear();
  rollouts->prompts = prompts;
  TaskInputs inputs;
  inputs.payloads = {nullptr, rollouts};
  try {
    make_score_node(plan_of_one(), NodeId(0))->run(inputs, {});
    FAIL() << "a reward was made up";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "reward `exact`, response 2: the data gives no answer to compare with; "
                 "the prompt was `4+5=`, the response `9`");
  }
}

TEST(ScoreNode, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  TaskContext context;
  context.stop = stop.get_token();
  TaskInputs inputs;
  inputs.payloads = {nullptr, four_responses({"5", "9", "9", "9"}, {true, true, true, true})};
  EXPECT_THROW(make_score_node(plan_of_one(), NodeId(0))->run(inputs, context), TaskStopped);
}

TaskResult advantage_of(const std::string& estimator, std::vector<float> rewards, bool per_token = false) {
  Plan plan = plan_of_one();
  plan.nodes[0].settings = {
      {"estimator", Value(Word{estimator})}, {"eps", Value(1e-6)}, {"scale", Value(Word{"group"})}};
  auto batch = std::make_shared<BatchDescriptor>();
  batch->group = {0, 0, 5, 5};  // prompts 1 to 4 gave no response
  batch->offsets = {0, 2, 4, 6, 8};
  batch->mask.assign(8, 1);
  batch->finish.assign(4, 0);
  TaskInputs inputs;
  inputs.payloads = {std::make_shared<Numbers>(Kind::reward, batch, per_token, std::move(rewards))};
  return make_advantage_node(plan, NodeId(0))->run(inputs, {});
}

TEST(AdvantageNode, EachEstimator) {
  const auto values = [](const TaskResult& result) { return output<Numbers>(result, 0)->data; };
  const std::vector<float> grpo = values(advantage_of("grpo", {1, 0, 1, 0.5f}));
  EXPECT_NEAR(grpo[0], 0.707106, 1e-6);
  EXPECT_NEAR(grpo[3], -0.707105, 1e-6);
  EXPECT_EQ(values(advantage_of("dr_grpo", {1, 0, 1, 0.5f})), (std::vector<float>{0.5f, -0.5f, 0.25f, -0.25f}));
  EXPECT_EQ(values(advantage_of("rloo", {1, 0, 1, 0.5f})), (std::vector<float>{1, -1, 0.5f, -0.5f}));
  EXPECT_EQ(values(advantage_of("rloo", {0.5f, 0.5f, 0, 0, 1, 0, 0, 0.5f}, true)),
            (std::vector<float>{1, -1, 0.5f, -0.5f}));
}

TEST(AdvantageNode, CountsPromptsThatTeachNothing) {
  const TaskResult result = advantage_of("grpo", {1, 1, 1, 0});
  EXPECT_EQ(result.metrics[0].name, "frac_reward_zero_std");
  EXPECT_EQ(result.metrics[0].value, 0.5);
  EXPECT_EQ(output<Numbers>(result, 0)->data[0], 0.0f);
}

TEST(AdvantageNode, ARewardThatIsNotFiniteStopsTheRun) {
  EXPECT_THROW(advantage_of("grpo", {1, std::numeric_limits<float>::quiet_NaN(), 1, 0}), NumericsError);
}

TEST(AdvantageNode, EstimatorsWithoutCodeAreRefused) {
  EXPECT_THROW(advantage_of("opo", {1, 0, 1, 0}), std::runtime_error);
}

}  // namespace
}  // namespace rlflow
