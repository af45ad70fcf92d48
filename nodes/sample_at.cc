// Tokens of one response as text.
#include "nodes/sample_at.h"

#include <memory>
#include <stdexcept>
#include <string>

#include "nodes/batches.h"
#include "nodes/plan_access.h"

namespace rlflow {
namespace {

const Rollouts* rollouts_among(const std::vector<PayloadPtr>& payloads) {
  for (const PayloadPtr& payload : payloads) {
    if (payload && payload->kind() == Kind::traj) return static_cast<const Rollouts*>(payload.get());
  }
  return nullptr;
}

// Any model that generated them will do: they share the tokenizer (checked by the compiler).
ModelId model_of(const Plan& plan, const PlanNode& node) {
  if (node.tokenizer.valid()) return node.tokenizer;
  if (node.model.valid()) return node.model;
  for (const PlanNode& other : plan.nodes) {
    if (other.op == "rollout") return other.model;
  }
  return {};
}

}  // namespace

std::optional<Sample> sample_at(const Plan& plan, NodeId node, const std::vector<PayloadPtr>& inputs,
                                const std::vector<PayloadPtr>& outputs, std::int64_t index) {
  const Rollouts* traj = rollouts_among(outputs);
  if (traj == nullptr) traj = rollouts_among(inputs);
  const ModelId model = model_of(plan, plan.nodes[node.index()]);
  if (traj == nullptr || !model.valid()) return std::nullopt;
  const auto i = static_cast<std::size_t>(index);
  if (index < 0 || i >= traj->batch->size()) {
    throw std::runtime_error("there is no sample " + std::to_string(index) + ": the batch has " +
                             std::to_string(traj->batch->size()) + " responses, from 0 on");
  }
  const auto begin = static_cast<std::size_t>(traj->batch->offsets[i]);
  const auto ids = std::span(traj->tokens).subspan(begin, static_cast<std::size_t>(traj->batch->length(i)));
  Sample sample;
  sample.prompt = traj->prompts->text.at(static_cast<std::size_t>(traj->batch->group[i]));
  sample.response = response_text(read_tokenizer(model_folder(plan, model)), ids,
                                  static_cast<FinishReason>(traj->batch->finish[i]), traj->batch->stop);
  for (const PayloadPtr& output : outputs) {
    const auto* numbers = dynamic_cast<const Numbers*>(output.get());
    if (numbers != nullptr && !numbers->per_token && i < numbers->data.size()) sample.reward = numbers->data[i];
  }
  return sample;
}

}  // namespace rlflow
