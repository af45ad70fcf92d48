// How does the KL to a reference enter the reward, and how is its coefficient kept near a target?
#include "nodes/kl_reward_node.h"

#include <cmath>

#include "nodes/algo/kl.h"
#include "nodes/algo/token_advantage.h"
#include "nodes/batch_tensors.h"
#include "nodes/payload_cast.h"

namespace rlflow {
namespace {

// Mean over responses of the mean over each one's masked tokens; a response without any counts as 0.
double mean_kl(const at::Tensor& kl, const BatchDescriptor& batch) {
  const auto k = kl.accessor<float, 1>();
  double sum = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    double part = 0, tokens = 0;
    for (std::int64_t t = batch.offsets[i]; t < batch.offsets[i + 1]; ++t) {
      if (batch.mask[static_cast<std::size_t>(t)] == 0) continue;
      part += k[t];
      tokens += 1;
    }
    if (tokens > 0) sum += part / tokens;
  }
  return batch.size() == 0 ? 0 : sum / static_cast<double>(batch.size());
}

class KlPenaltyNode final : public Node {
 public:
  explicit KlPenaltyNode(const PlanNode& node) : name_(node.name) {
    const std::string kind = text_at(node.settings, "kind");
    const std::optional<algo::KlKind> known = algo::kl_kind_from_name(kind);
    RLFLOW_CHECK(known, kind);
    kind_ = *known;
  }

  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    const auto& reward = input_as<Numbers>(inputs, 0);
    const auto &logprob = input_as<Numbers>(inputs, 1), &reference = input_as<Numbers>(inputs, 2);
    const double coef = input_as<Scalar>(inputs, 3).value;
    const BatchDescriptor& batch = *logprob.batch;
    RLFLOW_CHECK(reward.batch->size() == batch.size() && reference.data.size() == logprob.data.size(),
                 "inputs of another batch");
    const at::Tensor mask = mask_of(batch);
    const at::Tensor kl = algo::kl(floats_of(logprob.data), floats_of(reference.data), kind_);
    const at::Tensor score = reward.per_token ? floats_of(reward.data)
                                              : algo::on_last_token(floats_of(reward.data), mask, offsets_of(batch));
    const at::Tensor dense = score - at::where(mask, kl * coef, at::zeros_like(kl));
    const double mean = mean_kl(kl, batch);
    if (!std::isfinite(mean) || !at::isfinite(dense).all().item<bool>())
      throw NumericsError("kl_penalty `" + name_ + "`: the KL or a reward is not finite");
    TaskResult result;
    result.metrics = {{"kl", mean}, {"kl_coef", coef}};
    result.outputs = {token_numbers(Kind::reward, logprob.batch, dense), std::make_shared<Scalar>(mean)};
    return result;
  }

 private:
  std::string name_;
  algo::KlKind kind_{};
};

// Responses of a step, as the program fixes them: those of the rollout upstream of `node`. 0: there is none.
std::int64_t responses_upstream(const Plan& plan, NodeId id, std::vector<bool>& seen) {
  if (seen[id.index()]) return 0;
  seen[id.index()] = true;
  const PlanNode& node = plan.nodes[id.index()];
  for (const PlanInput& input : node.inputs) {
    if (!input.node.valid()) continue;
    const Attributes& above = plan.nodes[input.node.index()].constants;
    if (has(node.constants, "n") && has(above, "count")) return int_at(node.constants, "n") * int_at(above, "count");
    if (const std::int64_t found = responses_upstream(plan, input.node, seen); found > 0) return found;
  }
  return 0;
}

class AdaptKlNode final : public Node {
 public:
  AdaptKlNode(const Plan& plan, NodeId id)
      : target_(real_at(plan.nodes[id.index()].settings, "target")),
        horizon_(static_cast<double>(int_at(plan.nodes[id.index()].settings, "horizon"))) {
    std::vector<bool> seen(plan.nodes.size());
    const std::int64_t responses = responses_upstream(plan, id, seen);
    if (responses == 0) {
      throw std::runtime_error("adapt_kl `" + plan.nodes[id.index()].name +
                               "`: its KL comes from no rollout, so the responses of a step are unknown");
    }
    responses_ = static_cast<double>(responses);
  }

  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    const double coef = algo::adapted_kl_coefficient(input_as<Scalar>(inputs, 0).value,
                                                     input_as<Scalar>(inputs, 1).value, target_, responses_, horizon_);
    TaskResult result;
    result.metrics = {{"kl_coef", coef}};
    result.outputs = {std::make_shared<Scalar>(coef)};
    return result;
  }

 private:
  double target_, horizon_, responses_ = 0;
};

}  // namespace

std::unique_ptr<Node> make_kl_penalty_node(const Plan& plan, NodeId node) {
  return std::make_unique<KlPenaltyNode>(plan.nodes[node.index()]);
}

std::unique_ptr<Node> make_adapt_kl_node(const Plan& plan, NodeId node) {
  return std::make_unique<AdaptKlNode>(plan, node);
}

}  // namespace rlflow
