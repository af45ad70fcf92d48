// Do take and take_examples make of rows what a person would make of them?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "nodes/batches.h"
#include "nodes/data/addition.h"
#include "nodes/format/tokenizer.h"
#include "nodes/take_node.h"

namespace rlflow {
namespace {

using ::testing::HasSubstr;

Tokenizer tiny_tokenizer() { return read_tokenizer(std::string(RLFLOW_SOURCE_DIR) + "/models/tiny"); }

// One node that reads `builtin("addition")` with the tokenizer of models/tiny.
Plan reading_plan(const std::string& op, std::int64_t count, Value size, bool shuffle) {
  Plan plan;
  plan.root = RLFLOW_SOURCE_DIR;
  PlanModel model;
  model.name = "policy";
  model.path = "models/tiny";
  plan.models.push_back(model);
  PlanData data;
  data.name = "train";
  data.source = "builtin";
  data.argument = "addition";
  data.settings = {{"seed", std::int64_t{1}}, {"size", std::move(size)}, {"shuffle", shuffle}, {"digits", Range{2, 3}},
                   {"split", Word{"train"}},  {"worked", 1.0},           {"forget_carry", 0.0}};
  plan.data.push_back(data);
  PlanNode node;
  node.name = "batch";
  node.op = node.signature = op;
  node.data = DataId(0);
  node.tokenizer = ModelId(0);
  node.constants = {{"count", count}};
  plan.nodes.push_back(node);
  return plan;
}

template <class T>
const T& output(const TaskResult& result, std::size_t port) {
  return dynamic_cast<const T&>(*result.outputs.at(port));
}

TEST(Take, GivesPromptsWithBosAndTheCursorAfterThem) {
  std::unique_ptr<Node> take = make_take_node(reading_plan("take", 4, {}, false), NodeId(0));
  const TaskResult first = take->run({}, {});
  const auto& prompts = output<Prompts>(first, 0);
  EXPECT_EQ(prompts.source_row, (std::vector<std::int64_t>{0, 1, 2, 3}));
  const Tokenizer tokenizer = tiny_tokenizer();
  const Addition data({2, 3, 1, false, {}, 1.0, 0.0});
  for (std::size_t i = 0; i < 4; ++i) {
    const DataRow row = data.row(static_cast<std::int64_t>(i));
    EXPECT_EQ(tokenizer.decode(prompts.tokens.row(i)), "<bos>" + row.prompt);
    EXPECT_EQ(prompts.text[i], row.prompt);
    EXPECT_EQ(prompts.answer[i], row.answer);
  }
  EXPECT_EQ(output<Cursor>(first, 1).epoch, 0);
  EXPECT_EQ(output<Cursor>(first, 1).offset, 4);
  TaskInputs inputs;
  inputs.carried = first.outputs[1];
  EXPECT_EQ(output<Prompts>(take->run(inputs, {}), 0).source_row, (std::vector<std::int64_t>{4, 5, 6, 7}));
}

// 3 rows an epoch, 2 a step: 0 1 | 2 0 | 1 2.
TEST(Take, BatchesStraddleEpochs) {
  std::unique_ptr<Node> take = make_take_node(reading_plan("take", 2, std::int64_t{3}, false), NodeId(0));
  TaskInputs inputs;
  std::vector<std::vector<std::int64_t>> rows;
  for (int step = 0; step < 3; ++step) {
    const TaskResult result = take->run(inputs, {});
    rows.push_back(output<Prompts>(result, 0).source_row);
    inputs.carried = result.outputs[1];
  }
  EXPECT_EQ(rows, (std::vector<std::vector<std::int64_t>>{{0, 1}, {2, 0}, {1, 2}}));
}

TEST(Take, ANewNodeWithTheSameCursorGoesOnTheSame) {
  const Plan plan = reading_plan("take", 5, std::int64_t{7}, true);
  std::unique_ptr<Node> take = make_take_node(plan, NodeId(0));
  TaskInputs inputs;
  inputs.carried = take->run({}, {}).outputs[1];
  VectorSink on, resumed;
  take->run(inputs, {}).outputs[0]->write(on);
  make_take_node(plan, NodeId(0))->run(inputs, {}).outputs[0]->write(resumed);
  EXPECT_EQ(on.bytes, resumed.bytes);
}

TEST(Take, StopsWhenAsked) {
  std::unique_ptr<Node> take = make_take_node(reading_plan("take", 2, {}, false), NodeId(0));
  std::stop_source stop;
  stop.request_stop();
  TaskContext context;
  context.stop = stop.get_token();
  EXPECT_THROW(take->run({}, context), TaskStopped);
}

TEST(Take, RefusesToShuffleRowsWithoutEnd) {
  EXPECT_THROW(make_take_node(reading_plan("take", 2, {}, true), NodeId(0)), std::runtime_error);
}

TEST(TakeExamples, TrainsOnTheResponseAndItsEndToken) {
  std::unique_ptr<Node> take = make_take_examples_node(reading_plan("take_examples", 3, {}, false), NodeId(0));
  const TaskResult result = take->run({}, {});
  const auto& examples = output<Examples>(result, 0);
  const Tokenizer tokenizer = tiny_tokenizer();
  const Addition data({2, 3, 1, false, {}, 1.0, 0.0});
  ASSERT_EQ(examples.tokens.rows(), 3u);
  ASSERT_EQ(examples.loss_mask.size(), examples.tokens.tokens.size());
  for (std::size_t i = 0; i < 3; ++i) {
    const DataRow row = data.row(static_cast<std::int64_t>(i));
    EXPECT_EQ(tokenizer.decode(examples.tokens.row(i)), "<bos>" + row.prompt + row.response + "<eos>");
    for (std::int64_t t = 0; t < examples.tokens.length(i); ++t) {
      const bool trained = t > static_cast<std::int64_t>(row.prompt.size());  // one token a character, after bos
      EXPECT_EQ(examples.loss_mask[static_cast<std::size_t>(examples.tokens.offsets[i] + t)], trained) << i << " " << t;
    }
  }
}

}  // namespace
}  // namespace rlflow
