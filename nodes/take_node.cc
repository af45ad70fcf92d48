// How rows of a data set become prompts and examples.
#include "nodes/take_node.h"

#include <optional>
#include <stdexcept>
#include <utility>

#include "nodes/batches.h"
#include "nodes/data/dataset.h"
#include "nodes/data/order.h"
#include "nodes/payload_cast.h"
#include "nodes/plan_access.h"
#include "nodes/prompt_encoder.h"
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

// Inputs after those of the signature, which the compiler adds where a filter refills (compiler/refill.h). At the first
// step the cursor is a scalar, the initial value of a feedback edge.
constexpr std::size_t kCursorInput = 2, kMissingInput = 3;

constexpr std::int64_t kMostSkipped = 100'000;  // rows in a row, of data without end

// Rows in order, with the cursor that comes after them, and how they become tokens.
class RowReader {
 public:
  RowReader(const Plan& plan, const PlanNode& node)
      : data_(data_of(plan, node)),
        dataset_(open_dataset(data_, plan.root)),
        tokenizer_(tokenizer_of(plan, node)),
        encoder_(data_, model_folder(plan, node.tokenizer), tokenizer_),
        count_(int_at(node.constants, "count")),
        order_(order_of(data_, *dataset_)) {}

  // Calls use(index, row, prompt ids) for each of the next rows, but those that are left out for their length. The
  // result has the cursor after them, after what `made` holds then.
  template <class Made, class Use>
  TaskResult read(const TaskInputs& inputs, const TaskContext& context, std::shared_ptr<Made> made, Use use) {
    RowPlace place = first_place(inputs);
    const std::int64_t count = wanted(inputs);
    std::int64_t skipped = 0, skipped_now = 0;
    for (std::int64_t taken = 0; taken < count;) {
      if (context.stop.stop_requested()) throw TaskStopped();
      const std::int64_t index = order_.next(place, context.run_seed);
      const bool used = encode(index, use);
      taken += used ? 1 : 0;
      skipped += used ? 0 : 1;
      skipped_now = used ? 0 : skipped_now + 1;
      if (skipped_now >= dataset_->size().value_or(kMostSkipped)) {
        throw FormatError("data `" + data_.name + "`: " + std::to_string(skipped_now) +
                          " rows in a row are longer than `max_prompt`, so none is left to take");
      }
    }
    auto cursor = std::make_shared<Cursor>();
    cursor->epoch = place.epoch;
    cursor->offset = place.offset;
    TaskResult result;
    result.outputs = {std::move(made), std::move(cursor)};
    if (encoder_.skips()) result.metrics.push_back({"data/skipped", static_cast<double>(skipped)});
    result.warnings = dataset_->warnings();
    for (std::string& warning : encoder_.warnings()) result.warnings.push_back(std::move(warning));
    return result;
  }

  const PromptEncoder& encoder() const { return encoder_; }

 private:
  // Where the last take stopped: this node's of the step before, or, with a filter that refills, that of the round
  // before.
  static RowPlace first_place(const TaskInputs& inputs) {
    const bool refilled = inputs.payloads.size() > kCursorInput;
    const PayloadPtr& last = refilled ? inputs.payloads[kCursorInput] : inputs.carried;
    const auto* cursor = dynamic_cast<const Cursor*>(last.get());
    RLFLOW_CHECK(cursor || !last || (refilled && last->kind() == Kind::scalar),
                 "what a take goes on from is no cursor");
    return cursor ? RowPlace{cursor->epoch, cursor->offset} : RowPlace{};
  }
  std::int64_t wanted(const TaskInputs& inputs) const {
    if (inputs.payloads.size() <= kMissingInput) return count_;
    return static_cast<std::int64_t>(input_as<Scalar>(inputs, kMissingInput).value);
  }

  template <class Use>
  bool encode(std::int64_t index, Use& use) const {
    try {
      DataRow row = dataset_->row(index);
      const std::optional<std::vector<std::int32_t>> prompt = encoder_.prompt(row);
      if (prompt) use(index, std::move(row), *prompt);
      return prompt.has_value();
    } catch (const FormatError& error) {
      throw FormatError("data `" + data_.name + "`, row " + std::to_string(index) + ": " + error.what());
    }
  }

  PlanData data_;
  std::unique_ptr<Dataset> dataset_;
  Tokenizer tokenizer_;
  PromptEncoder encoder_;  // with tokenizer_
  std::int64_t count_;
  RowOrder order_;
};

class TakeNode final : public Node {
 public:
  TakeNode(const Plan& plan, const PlanNode& node) : reader_(plan, node) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    auto prompts = std::make_shared<Prompts>();
    return reader_.read(inputs, context, prompts,
                        [&](std::int64_t index, DataRow row, const std::vector<std::int32_t>& prompt) {
                          prompts->tokens.push_row(prompt);
                          prompts->source_row.push_back(index);
                          prompts->text.push_back(std::move(row.prompt));
                          prompts->answer.push_back(std::move(row.answer));
                        });
  }

 private:
  RowReader reader_;
};

class TakeExamplesNode final : public Node {
 public:
  TakeExamplesNode(const Plan& plan, const PlanNode& node) : reader_(plan, node) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    auto examples = std::make_shared<Examples>();
    return reader_.read(inputs, context, examples,
                        [&](std::int64_t index, const DataRow& row, const std::vector<std::int32_t>& prompt) {
                          std::vector<std::int32_t> ids = prompt;
                          const std::vector<std::int32_t> response = reader_.encoder().response(row.response);
                          ids.insert(ids.end(), response.begin(), response.end());
                          examples->tokens.push_row(ids);
                          examples->loss_mask.insert(examples->loss_mask.end(), prompt.size(), 0);
                          examples->loss_mask.insert(examples->loss_mask.end(), response.size(), 1);
                          examples->source_row.push_back(index);
                        });
  }

 private:
  RowReader reader_;
};

class TakePairsNode final : public Node {
 public:
  TakePairsNode(const Plan& plan, const PlanNode& node) : reader_(plan, node) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    auto pairs = std::make_shared<Pairs>();
    auto batch = std::make_shared<BatchDescriptor>();
    TaskResult result = reader_.read(
        inputs, context, pairs, [&](std::int64_t index, const DataRow& row, const std::vector<std::int32_t>& prompt) {
          pairs->prompts.push_row(prompt);
          pairs->source_row.push_back(index);
          for (const std::string* response : {&row.chosen, &row.rejected}) {
            const std::vector<std::int32_t> ids = reader_.encoder().response(*response);
            pairs->tokens.insert(pairs->tokens.end(), ids.begin(), ids.end());
            batch->group.push_back(static_cast<std::int32_t>(pairs->prompts.rows()) - 1);
            batch->offsets.push_back(static_cast<std::int64_t>(pairs->tokens.size()));
            batch->mask.insert(batch->mask.end(), ids.size(), 1);
            batch->finish.push_back(static_cast<std::uint8_t>(FinishReason::end));
          }
        });
    pairs->batch = std::move(batch);
    return result;
  }

 private:
  RowReader reader_;
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
