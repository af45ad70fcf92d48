// What does a model say of each response token: its log-probability, or the value before it?
#include "nodes/token_reading_node.h"

#include <cmath>
#include <numeric>

#include "nodes/batches.h"
#include "nodes/model/backend.h"
#include "nodes/model_access.h"
#include "nodes/payload_cast.h"

namespace rlflow {
namespace {

// What trajectories and pairs have in common.
struct Responses {
  BatchPtr batch;
  const PackedTokens* prompts;
  const std::vector<std::int32_t>* tokens;
};

Responses responses_of(const TaskInputs& inputs, std::size_t index) {
  if (const auto* pairs = dynamic_cast<const Pairs*>(inputs.payloads.at(index).get())) {
    return {pairs->batch, &pairs->prompts, &pairs->tokens};
  }
  const auto& traj = input_as<Rollouts>(inputs, index);
  return {traj.batch, &traj.prompts->tokens, &traj.tokens};
}

class TokenReadingNode final : public Node {
 public:
  TokenReadingNode(const Plan& plan, const PlanNode& node, Kind kind)
      : name_(node.name),
        kind_(kind),
        budget_(has(node.settings, "micro") ? int_at(node.settings, "micro") : chunk_rows(device_of(plan, node))),
        threads_(threads_of(plan, node)),
        passes_(make_passes(device_of(plan, node))) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    const Responses read = responses_of(inputs, 1);
    std::vector<std::int64_t> all(read.batch->size());
    std::iota(all.begin(), all.end(), 0);
    const std::vector<Chunk> chunks =
        pack_responses(rows_of(*read.prompts), {*read.tokens, read.batch->offsets}, read.batch->group, all, budget_);
    const PassSettings settings{inverse_temperature(read.batch->temperature), threads_, context.stop};
    std::vector<float> numbers(read.tokens->size());
    const bool values = kind_ == Kind::value;
    if (values) {
      passes_->values(model_of(inputs), chunks, settings, numbers);
    } else {
      passes_->logprobs(model_of(inputs), chunks, settings, numbers);
    }
    double sum = 0;
    for (float number : numbers) sum += number;
    if (!std::isfinite(sum)) {
      throw NumericsError((values ? "value `" : "logprob `") + name_ +
                          "`: " + (values ? "a value" : "a log-probability") + " is not finite");
    }
    TaskResult result;
    result.metrics = {
        {values ? "value/mean" : "logprob/mean", numbers.empty() ? 0 : sum / static_cast<double>(numbers.size())}};
    result.outputs = {std::make_shared<Numbers>(kind_, read.batch, true, std::move(numbers))};
    return result;
  }

 private:
  std::string name_;
  Kind kind_;
  std::int64_t budget_;
  std::int32_t threads_;
  std::unique_ptr<Passes> passes_;
};

}  // namespace

std::unique_ptr<Node> make_logprob_node(const Plan& plan, NodeId node) {
  return std::make_unique<TokenReadingNode>(plan, plan.nodes[node.index()], Kind::logp);
}

std::unique_ptr<Node> make_value_node(const Plan& plan, NodeId node) {
  return std::make_unique<TokenReadingNode>(plan, plan.nodes[node.index()], Kind::value);
}

}  // namespace rlflow
