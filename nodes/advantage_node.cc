// How rewards of a batch become advantages.
#include "nodes/advantage_node.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "nodes/algo/group_advantage.h"
#include "nodes/batches.h"
#include "nodes/early_groups.h"
#include "nodes/payload_cast.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// One score a response: rewards of tokens added up.
std::vector<float> scores_of(const Numbers& reward) {
  if (!reward.per_token) return reward.data;
  const BatchDescriptor& batch = *reward.batch;
  std::vector<float> scores(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    double sum = 0;
    for (std::int64_t t = batch.offsets[i]; t < batch.offsets[i + 1]; ++t)
      sum += reward.data[static_cast<std::size_t>(t)];
    scores[i] = static_cast<float>(sum);
  }
  return scores;
}

// Prompts of the chosen responses are numbered from 0 without gaps, whatever the batch calls them.
algo::Groups groups_of(const BatchDescriptor& batch, const std::vector<std::size_t>& chosen) {
  algo::Groups groups{at::empty({static_cast<std::int64_t>(chosen.size())}, at::kLong), 0};
  auto index = groups.index.accessor<std::int64_t, 1>();
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    if (k == 0 || batch.group[chosen[k]] != batch.group[chosen[k - 1]]) ++groups.count;
    index[static_cast<std::int64_t>(k)] = groups.count - 1;
  }
  return groups;
}

enum class Estimator { grpo, dr_grpo, rloo };

Estimator estimator_of(const Attributes& settings) {
  const std::string name = text_at(settings, "estimator");
  if (name == "grpo") return Estimator::grpo;
  if (name == "dr_grpo") return Estimator::dr_grpo;
  if (name == "rloo") return Estimator::rloo;
  throw std::runtime_error("this build has no code for `estimator = " + name + "`");
}

class AdvantageNode final : public Node {
 public:
  explicit AdvantageNode(const PlanNode& node)
      : estimator_(estimator_of(node.settings)), eps_(real_at(node.settings, "eps")) {
    const auto scale = algo::scale_from_name(text_at(node.settings, "scale"));
    RLFLOW_CHECK(scale, "scale of `" + node.name + "`");
    scale_ = *scale;
  }

  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    const auto& reward = input_as<Numbers>(inputs, 0);
    std::vector<float> scores = scores_of(reward);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!std::isfinite(scores[i]))
        throw NumericsError("the reward of response " + std::to_string(i) + " is not finite");
    }
    EarlyNumbers advantage = early_numbers(*reward.batch, inputs.early);
    estimate_rest(scores, *reward.batch, advantage);
    TaskResult result;
    result.outputs = {std::make_shared<Numbers>(Kind::adv, reward.batch, false, std::move(advantage.values))};
    return result;
  }

  bool works_by_group() const override { return scale_ != algo::Scale::batch; }

 private:
  // Of the responses that have no advantage yet: whole groups, since groups are done early as a whole.
  void estimate_rest(const std::vector<float>& scores, const BatchDescriptor& batch, EarlyNumbers& advantage) const {
    const auto count = static_cast<std::int64_t>(advantage.missing.size());
    if (count == 0) return;
    const at::Tensor score = at::empty({count}, at::kFloat);
    for (std::int64_t k = 0; k < count; ++k) {
      score.data_ptr<float>()[k] = scores[advantage.missing[static_cast<std::size_t>(k)]];
    }
    const at::Tensor estimated = estimate(score, groups_of(batch, advantage.missing)).contiguous();
    for (std::int64_t k = 0; k < count; ++k) {
      advantage.values[advantage.missing[static_cast<std::size_t>(k)]] = estimated.const_data_ptr<float>()[k];
    }
  }

  at::Tensor estimate(const at::Tensor& score, const algo::Groups& groups) const {
    switch (estimator_) {
      case Estimator::grpo: return algo::grpo(score, groups, eps_, scale_);
      case Estimator::dr_grpo: return algo::dr_grpo(score, groups);
      case Estimator::rloo: return algo::rloo(score, groups);
    }
    return {};
  }

  Estimator estimator_;
  double eps_;
  algo::Scale scale_{};
};

}  // namespace

std::unique_ptr<Node> make_advantage_node(const Plan& plan, NodeId node) {
  return std::make_unique<AdvantageNode>(plan.nodes[node.index()]);
}

}  // namespace rlflow
