// What is the advantage of each token?
#include "nodes/token_advantage_node.h"

#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "nodes/algo/masked.h"
#include "nodes/algo/token_advantage.h"
#include "nodes/batch_tensors.h"
#include "nodes/payload_cast.h"

namespace rlflow {
namespace {

// One reward a token; one of a response goes to its last token.
at::Tensor token_rewards(const Numbers& reward, const at::Tensor& mask, const at::Tensor& offsets) {
  const at::Tensor values = floats_of(reward.data);
  if (!at::isfinite(values).all().item<bool>()) throw NumericsError("a reward is not finite");
  return reward.per_token ? values : algo::on_last_token(values, mask, offsets);
}

class TokenAdvantageNode final : public Node {
 public:
  explicit TokenAdvantageNode(const PlanNode& node) : gamma_(real_at(node.settings, "gamma")) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    const auto& reward = input_as<Numbers>(inputs, 0);
    const at::Tensor mask = mask_of(*reward.batch), offsets = offsets_of(*reward.batch);
    TaskResult result;
    result.outputs = {token_numbers(Kind::adv, reward.batch,
                                    algo::reinforce_pp(token_rewards(reward, mask, offsets), mask, offsets, gamma_))};
    return result;
  }

 private:
  double gamma_;
};

// Variance over the masked tokens; 0 where there are fewer than two.
double masked_variance(const at::Tensor& x, const at::Tensor& mask) {
  const at::Tensor seen = x.masked_select(mask).to(at::kDouble);
  return seen.numel() < 2 ? 0 : seen.var().item<double>();
}

class ValueAdvantageNode final : public Node {
 public:
  explicit ValueAdvantageNode(const PlanNode& node)
      : gamma_(real_at(node.settings, "gamma")),
        lambda_(real_at(node.settings, "lambda")),
        whiten_(*node.settings.at("whiten").get<bool>()) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    const auto &reward = input_as<Numbers>(inputs, 0), &values = input_as<Numbers>(inputs, 1);
    const BatchPtr& batch = values.batch;
    RLFLOW_CHECK(reward.batch->size() == batch->size(), "inputs of another batch");
    const at::Tensor mask = mask_of(*batch), offsets = offsets_of(*batch), value = floats_of(values.data);
    const algo::Gae gae = algo::gae(token_rewards(reward, mask, offsets), value, mask, offsets, gamma_, lambda_);
    const double spread = masked_variance(gae.returns, mask);
    TaskResult result;
    // Returns without spread leave nothing to explain.
    result.metrics = {
        {"value/explained_variance", spread > 0 ? 1 - masked_variance(gae.returns - value, mask) / spread : 0}};
    result.outputs = {token_numbers(Kind::adv, batch, whiten_ ? algo::whiten(gae.advantage, mask) : gae.advantage),
                      token_numbers(Kind::returns, batch, gae.returns)};
    return result;
  }

 private:
  double gamma_, lambda_;
  bool whiten_;
};

// Rewards of the prompts' greedy responses by prompt, and whose prompt each response of `batch` answers.
std::pair<at::Tensor, algo::Groups> baselines(const Numbers& greedy, const BatchDescriptor& batch) {
  std::map<std::int32_t, float> reward;
  for (std::size_t i = 0; i < greedy.batch->size(); ++i) {
    RLFLOW_CHECK(!greedy.per_token, "a baseline is one reward a response");
    if (!reward.emplace(greedy.batch->group[i], greedy.data[i]).second)
      throw std::runtime_error("the baseline has several responses to a prompt; sample it with `n = 1`");
  }
  std::vector<float> values;
  algo::Groups groups{at::empty({static_cast<std::int64_t>(batch.size())}, at::kLong), 0};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto at = reward.find(batch.group[i]);
    if (at == reward.end())
      throw std::runtime_error("the baseline has no response to prompt " + std::to_string(batch.group[i]));
    if (i == 0 || batch.group[i] != batch.group[i - 1]) {
      values.push_back(at->second);
      ++groups.count;
    }
    groups.index.data_ptr<std::int64_t>()[i] = groups.count - 1;
  }
  return {floats_of(values), groups};
}

class BaselineAdvantageNode final : public Node {
 public:
  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    const auto &reward = input_as<Numbers>(inputs, 0), &greedy = input_as<Numbers>(inputs, 1);
    const at::Tensor mask = mask_of(*reward.batch), offsets = offsets_of(*reward.batch);
    const auto [baseline, groups] = baselines(greedy, *reward.batch);
    if (!at::isfinite(baseline).all().item<bool>()) throw NumericsError("a reward of the baseline is not finite");
    TaskResult result;
    result.metrics = {{"baseline/mean", baseline.numel() > 0 ? baseline.mean().item<double>() : 0}};
    result.outputs = {token_numbers(
        Kind::adv, reward.batch, algo::remax(token_rewards(reward, mask, offsets), baseline, groups, mask, offsets))};
    return result;
  }
};

}  // namespace

std::unique_ptr<Node> make_baseline_advantage_node(const Plan&, NodeId) {
  return std::make_unique<BaselineAdvantageNode>();
}

std::unique_ptr<Node> make_token_advantage_node(const Plan& plan, NodeId node) {
  return std::make_unique<TokenAdvantageNode>(plan.nodes[node.index()]);
}

std::unique_ptr<Node> make_value_advantage_node(const Plan& plan, NodeId node) {
  return std::make_unique<ValueAdvantageNode>(plan.nodes[node.index()]);
}

}  // namespace rlflow
