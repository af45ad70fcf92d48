// How rewards of a batch become advantages.
#include "nodes/advantage_node.h"

#include <ATen/ATen.h>

#include <map>
#include <utility>

#include "nodes/algo/group_advantage.h"
#include "nodes/algo/token_advantage.h"
#include "nodes/batch_tensors.h"
#include "nodes/batches.h"
#include "nodes/early_groups.h"
#include "nodes/payload_cast.h"
#include "nodes/response_scores.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

enum class Estimator { grpo, dr_grpo, rloo, opo, gpg, pass_at_k, reinforce, reinforce_pp_baseline };

Estimator estimator_of(const Attributes& settings) {
  static const std::map<std::string, Estimator> kEstimators = {
      {"grpo", Estimator::grpo},
      {"dr_grpo", Estimator::dr_grpo},
      {"rloo", Estimator::rloo},
      {"opo", Estimator::opo},
      {"gpg", Estimator::gpg},
      {"pass_at_k", Estimator::pass_at_k},
      {"reinforce", Estimator::reinforce},
      {"reinforce_pp_baseline", Estimator::reinforce_pp_baseline}};
  const auto at = kEstimators.find(text_at(settings, "estimator"));
  RLFLOW_CHECK(at != kEstimators.end(), text_at(settings, "estimator"));
  return at->second;
}

class AdvantageNode final : public Node {
 public:
  explicit AdvantageNode(const PlanNode& node)
      : estimator_(estimator_of(node.settings)),
        eps_(real_at(node.settings, "eps")),
        subtract_batch_mean_(text_at(node.settings, "subtract") == "batch") {
    const auto scale = algo::scale_from_name(text_at(node.settings, "scale"));
    RLFLOW_CHECK(scale, "scale of `" + node.name + "`");
    scale_ = *scale;
  }

  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    const auto& reward = input_as<Numbers>(inputs, 0);
    const std::vector<float> scores = scores_of(reward);
    EarlyNumbers advantage = early_numbers(*reward.batch, inputs.early);
    estimate_rest(scores, *reward.batch, advantage);
    TaskResult result;
    result.outputs = {std::make_shared<Numbers>(Kind::adv, reward.batch, false, std::move(advantage.values))};
    return result;
  }

  // What looks at the whole batch waits for it.
  bool works_by_group() const override {
    switch (estimator_) {
      case Estimator::grpo: return scale_ != algo::Scale::batch;
      case Estimator::gpg:
      case Estimator::reinforce_pp_baseline: return false;
      case Estimator::reinforce: return !subtract_batch_mean_;
      default: return true;
    }
  }

 private:
  // Of the responses that have no advantage yet: whole groups, since groups are done early as a whole.
  void estimate_rest(const std::vector<float>& scores, const BatchDescriptor& batch, EarlyNumbers& advantage) const {
    const auto count = static_cast<std::int64_t>(advantage.missing.size());
    if (count == 0) return;
    const at::Tensor score = at::empty({count}, at::kFloat), length = at::empty({count}, at::kFloat);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::size_t i = advantage.missing[static_cast<std::size_t>(k)];
      score.data_ptr<float>()[k] = scores[i];
      length.data_ptr<float>()[k] = static_cast<float>(batch.length(i));
    }
    const at::Tensor estimated = estimate(score, length, batch, groups_of(batch, advantage.missing)).contiguous();
    for (std::int64_t k = 0; k < count; ++k) {
      advantage.values[advantage.missing[static_cast<std::size_t>(k)]] = estimated.const_data_ptr<float>()[k];
    }
  }

  // Whitened over the tokens, and the same for all of a response: that of its first one; 0 without a trained token.
  static at::Tensor of_responses(const at::Tensor& score, const BatchDescriptor& batch, const algo::Groups& groups) {
    const at::Tensor tokens =
        algo::reinforce_pp_baseline(score, groups, mask_of(batch), offsets_of(batch)).contiguous();
    at::Tensor advantage = at::zeros_like(score);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      for (std::int64_t t = batch.offsets[i]; t < batch.offsets[i + 1]; ++t) {
        if (batch.mask[static_cast<std::size_t>(t)] == 0) continue;
        advantage.data_ptr<float>()[i] = tokens.const_data_ptr<float>()[t];
        break;
      }
    }
    return advantage;
  }

  at::Tensor estimate(const at::Tensor& score, const at::Tensor& length, const BatchDescriptor& batch,
                      const algo::Groups& groups) const {
    switch (estimator_) {
      case Estimator::grpo: return algo::grpo(score, groups, eps_, scale_);
      case Estimator::dr_grpo: return algo::dr_grpo(score, groups);
      case Estimator::rloo: return algo::rloo(score, groups);
      case Estimator::opo: return algo::opo(score, length, groups);
      case Estimator::gpg: return algo::gpg(score, groups);
      case Estimator::pass_at_k: return algo::pass_at_k(score, groups);
      case Estimator::reinforce: return algo::reinforce(score, subtract_batch_mean_);
      case Estimator::reinforce_pp_baseline: return of_responses(score, batch, groups);
    }
    return {};
  }

  Estimator estimator_;
  double eps_;
  bool subtract_batch_mean_;
  algo::Scale scale_{};
};

// Several rewards of the same responses, each compared within its groups, then added up and whitened.
class SeveralRewardsNode final : public Node {
 public:
  explicit SeveralRewardsNode(const PlanNode& node)
      : weights_(weights_of(node, node.inputs.size())), eps_(real_at(node.settings, "eps")) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    const auto& first = input_as<Numbers>(inputs, 0);
    std::vector<at::Tensor> scores;
    for (std::size_t k = 0; k < inputs.payloads.size(); ++k) {
      const auto& reward = input_as<Numbers>(inputs, k);
      RLFLOW_CHECK(reward.batch->size() == first.batch->size(), "rewards of another batch");
      scores.push_back(floats_of(scores_of(reward)));
    }
    const at::Tensor advantage = algo::gdpo(scores, weights_, groups_of(*first.batch), eps_).contiguous();
    const float* data = advantage.const_data_ptr<float>();
    TaskResult result;
    result.outputs = {
        std::make_shared<Numbers>(Kind::adv, first.batch, false, std::vector<float>(data, data + advantage.numel()))};
    return result;
  }

 private:
  std::vector<double> weights_;
  double eps_;
};

}  // namespace

std::unique_ptr<Node> make_several_rewards_node(const Plan& plan, NodeId node) {
  return std::make_unique<SeveralRewardsNode>(plan.nodes[node.index()]);
}

std::unique_ptr<Node> make_advantage_node(const Plan& plan, NodeId node) {
  return std::make_unique<AdvantageNode>(plan.nodes[node.index()]);
}

}  // namespace rlflow
