// How rows of a data set become prompts and examples.
#include "nodes/take_node.h"

#include <optional>
#include <stdexcept>
#include <utility>

#include "nodes/batches.h"
#include "nodes/data/dataset.h"
#include "nodes/data/order.h"
#include "nodes/plan_access.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

RowOrder order_of(const PlanData& data, const Dataset& dataset) {
  const bool shuffle = bool_at(data.settings, "shuffle");
  if (shuffle && !dataset.size()) {
    throw std::runtime_error("data `" + data.name + "`: `shuffle` needs `size`, since its rows have no end");
  }
  return RowOrder(dataset.size(), shuffle, static_cast<std::uint64_t>(int_at(data.settings, "seed")));
}

// Rows in order, with the cursor that comes after them.
class RowReader {
 public:
  RowReader(const Plan& plan, const PlanNode& node)
      : data_(data_of(plan, node)),
        dataset_(open_dataset(data_, plan.root)),
        count_(int_at(node.constants, "count")),
        order_(order_of(data_, *dataset_)) {}

  // Calls use(index, row) for each of the next rows; returns the cursor after them.
  // A prompt as token ids; longer than `max_prompt` is an error.
  std::vector<std::int32_t> encoded_prompt(const Tokenizer& tokenizer, const std::string& prompt) const {
    std::vector<std::int32_t> ids = tokenizer.encode_prompt(prompt);
    if (has(data_.settings, "max_prompt")) {
      const std::int64_t most = int_at(data_.settings, "max_prompt");
      if (static_cast<std::int64_t>(ids.size()) > most) {
        throw FormatError("the prompt has " + std::to_string(ids.size()) + " tokens, `max_prompt` is " +
                          std::to_string(most));
      }
    }
    return ids;
  }

  template <class Use>
  std::shared_ptr<const Cursor> read(const TaskInputs& inputs, const TaskContext& context, Use use) {
    RowPlace place;
    if (inputs.carried) {
      const auto* cursor = dynamic_cast<const Cursor*>(inputs.carried.get());
      RLFLOW_CHECK(cursor, "what a take node carries is not a cursor");
      place = {cursor->epoch, cursor->offset};
    }
    for (std::int64_t i = 0; i < count_; ++i) {
      if (context.stop.stop_requested()) throw TaskStopped();
      const std::int64_t index = order_.next(place, context.run_seed);
      try {
        use(index, dataset_->row(index));
      } catch (const FormatError& error) {
        throw FormatError("data `" + data_.name + "`, row " + std::to_string(index) + ": " + error.what());
      }
    }
    auto cursor = std::make_shared<Cursor>();
    cursor->epoch = place.epoch;
    cursor->offset = place.offset;
    return cursor;
  }

 private:
  PlanData data_;
  std::unique_ptr<Dataset> dataset_;
  std::int64_t count_;
  RowOrder order_;
};

class TakeNode final : public Node {
 public:
  TakeNode(const Plan& plan, const PlanNode& node) : reader_(plan, node), tokenizer_(tokenizer_of(plan, node)) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    auto prompts = std::make_shared<Prompts>();
    auto cursor = reader_.read(inputs, context, [&](std::int64_t index, DataRow row) {
      prompts->tokens.push_row(reader_.encoded_prompt(tokenizer_, row.prompt));
      prompts->source_row.push_back(index);
      prompts->text.push_back(std::move(row.prompt));
      prompts->answer.push_back(std::move(row.answer));
    });
    TaskResult result;
    result.outputs = {std::move(prompts), std::move(cursor)};
    return result;
  }

 private:
  RowReader reader_;
  Tokenizer tokenizer_;
};

Tokenizer tokenizer_with_end(const Plan& plan, const PlanNode& node) {
  Tokenizer tokenizer = tokenizer_of(plan, node);
  if (tokenizer.eos() < 0) {
    throw FormatError("the tokenizer of `" + node.name + "` has no end token, so a response could never end");
  }
  return tokenizer;
}

class TakeExamplesNode final : public Node {
 public:
  TakeExamplesNode(const Plan& plan, const PlanNode& node)
      : reader_(plan, node), tokenizer_(tokenizer_with_end(plan, node)) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    auto examples = std::make_shared<Examples>();
    auto cursor = reader_.read(inputs, context, [&](std::int64_t index, const DataRow& row) {
      std::vector<std::int32_t> ids = reader_.encoded_prompt(tokenizer_, row.prompt);
      const std::size_t prompt_length = ids.size();
      const std::vector<std::int32_t> response = tokenizer_.encode(row.response);
      ids.insert(ids.end(), response.begin(), response.end());
      ids.push_back(tokenizer_.eos());
      examples->tokens.push_row(ids);
      examples->loss_mask.insert(examples->loss_mask.end(), prompt_length, 0);
      examples->loss_mask.insert(examples->loss_mask.end(), ids.size() - prompt_length, 1);
      examples->source_row.push_back(index);
    });
    TaskResult result;
    result.outputs = {std::move(examples), std::move(cursor)};
    return result;
  }

 private:
  RowReader reader_;
  Tokenizer tokenizer_;
};

class TakePairsNode final : public Node {
 public:
  TakePairsNode(const Plan& plan, const PlanNode& node)
      : reader_(plan, node), tokenizer_(tokenizer_with_end(plan, node)) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    auto pairs = std::make_shared<Pairs>();
    auto batch = std::make_shared<BatchDescriptor>();
    auto cursor = reader_.read(inputs, context, [&](std::int64_t index, const DataRow& row) {
      pairs->prompts.push_row(reader_.encoded_prompt(tokenizer_, row.prompt));
      pairs->source_row.push_back(index);
      for (const std::string* response : {&row.chosen, &row.rejected}) {
        std::vector<std::int32_t> ids = tokenizer_.encode(*response);
        ids.push_back(tokenizer_.eos());
        pairs->tokens.insert(pairs->tokens.end(), ids.begin(), ids.end());
        batch->group.push_back(static_cast<std::int32_t>(pairs->prompts.rows()) - 1);
        batch->offsets.push_back(static_cast<std::int64_t>(pairs->tokens.size()));
        batch->mask.insert(batch->mask.end(), ids.size(), 1);
        batch->finish.push_back(static_cast<std::uint8_t>(FinishReason::end));
      }
    });
    pairs->batch = std::move(batch);
    TaskResult result;
    result.outputs = {std::move(pairs), std::move(cursor)};
    return result;
  }

 private:
  RowReader reader_;
  Tokenizer tokenizer_;
};

}  // namespace

std::unique_ptr<Node> make_take_node(const Plan& plan, NodeId node) {
  return std::make_unique<TakeNode>(plan, plan.nodes[node.index()]);
}

std::unique_ptr<Node> make_take_examples_node(const Plan& plan, NodeId node) {
  return std::make_unique<TakeExamplesNode>(plan, plan.nodes[node.index()]);
}

std::unique_ptr<Node> make_take_pairs_node(const Plan& plan, NodeId node) {
  return std::make_unique<TakePairsNode>(plan, plan.nodes[node.index()]);
}

}  // namespace rlflow
