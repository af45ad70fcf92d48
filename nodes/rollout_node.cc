// Prompts to responses: what does the replica answer?
#include "nodes/rollout_node.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "nodes/batches.h"
#include "nodes/model_access.h"
#include "nodes/node_generation.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// The responses to prompts `first_prompt` … as one packed payload.
std::shared_ptr<Rollouts> pack(std::span<const Response> responses, std::int64_t samples, std::int64_t first_prompt,
                               double temperature, const std::vector<std::string>& stop) {
  auto batch = std::make_shared<BatchDescriptor>();
  auto traj = std::make_shared<Rollouts>();
  batch->temperature = temperature;
  batch->stop = stop;
  for (std::size_t i = 0; i < responses.size(); ++i) {
    const Response& response = responses[i];
    batch->group.push_back(static_cast<std::int32_t>(first_prompt + static_cast<std::int64_t>(i) / samples));
    batch->finish.push_back(static_cast<std::uint8_t>(response.finish));
    traj->tokens.insert(traj->tokens.end(), response.tokens.begin(), response.tokens.end());
    traj->logprob.insert(traj->logprob.end(), response.logprob.begin(), response.logprob.end());
    batch->offsets.push_back(static_cast<std::int64_t>(traj->tokens.size()));
  }
  batch->mask.assign(traj->tokens.size(), 1);
  traj->batch = std::move(batch);
  return traj;
}

std::vector<Metric> length_metrics(const BatchDescriptor& batch) {
  if (batch.size() == 0) return {{"tokens", 0}};
  std::int64_t longest = 0, cut = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    longest = std::max(longest, batch.length(i));
    cut += batch.finish[i] == static_cast<std::uint8_t>(FinishReason::length) ? 1 : 0;
  }
  const auto size = static_cast<double>(batch.size());
  return {{"response_length/mean", static_cast<double>(batch.tokens()) / size},
          {"response_length/max", static_cast<double>(longest)},
          {"clip_ratio", static_cast<double>(cut) / size},
          {"tokens", static_cast<double>(batch.tokens())}};
}

class RolloutNode final : public Node {
 public:
  RolloutNode(const Plan& plan, const PlanNode& node)
      : name_(node.name),
        sampling_(plan, node, int_at(node.constants, "n"), RandomPurpose::sampling),
        emits_(text_at(node.settings, "emit") == "group"),
        generator_(make_generator(device_of(plan, node))) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    const auto prompts = std::dynamic_pointer_cast<const Prompts>(inputs.payloads.at(1));
    RLFLOW_CHECK(prompts, "rollout without prompts");
    std::vector<std::span<const std::int32_t>> rows;
    for (std::size_t i = 0; i < prompts->tokens.rows(); ++i) rows.push_back(prompts->tokens.row(i));
    std::function<void(std::int64_t, std::span<const Response>)> emit;
    if (emits_ && context.emit) {
      emit = [&](std::int64_t prompt, std::span<const Response> samples) {
        context.emit(static_cast<std::int32_t>(prompt), {payload(samples, prompt, prompts, context)});
      };
    }
    const std::vector<Response> responses = generate(*generator_, sampling_, inputs, context, rows, std::move(emit));
    std::shared_ptr<Rollouts> traj = payload(responses, 0, prompts, context);
    for (float logprob : traj->logprob) {
      if (!std::isfinite(logprob))
        throw NumericsError("rollout `" + name_ + "`: a sampled log-probability is not finite");
    }
    TaskResult result;
    result.metrics = length_metrics(*traj->batch);
    result.outputs = {std::move(traj)};
    return result;
  }

  bool emits_groups() const override { return emits_; }

 private:
  std::shared_ptr<Rollouts> payload(std::span<const Response> responses, std::int64_t first_prompt,
                                    const std::shared_ptr<const Prompts>& prompts, const TaskContext& context) const {
    std::shared_ptr<Rollouts> traj =
        pack(responses, sampling_.samples, first_prompt, sampling_.sampling.temperature, sampling_.stop());
    traj->prompts = prompts;
    traj->version = context.version;
    return traj;
  }

  std::string name_;
  NodeSampling sampling_;
  bool emits_;
  std::unique_ptr<Generator> generator_;
};

}  // namespace

std::unique_ptr<Node> make_rollout_node(const Plan& plan, NodeId node) {
  return std::make_unique<RolloutNode>(plan, plan.nodes[node.index()]);
}

}  // namespace rlflow
