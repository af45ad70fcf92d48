#include "nodes/score_node.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "nodes/batches.h"
#include "nodes/payload_cast.h"
#include "nodes/plan_access.h"
#include "nodes/reward/reward.h"

namespace rlflow {
namespace {

constexpr std::size_t kSamplesShown = 2;

// Mean and unbiased standard deviation, in f64; 0 for fewer than one and two values.
std::pair<double, double> mean_and_deviation(const std::vector<float>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (float value : values) sum += value;
  const double mean = values.empty() ? 0 : sum / n;
  double squares = 0;
  for (float value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() < 2 ? 0 : std::sqrt(squares / (n - 1))};
}

class ScoreNode final : public Node {
 public:
  ScoreNode(const Plan& plan, const PlanNode& node)
      : name_(reward_of(plan, node).name),
        reward_(make_reward(reward_of(plan, node))),
        tokenizer_(tokenizer_of(plan, node)) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    const auto& traj = input_as<Rollouts>(inputs, 1);
    const BatchDescriptor& batch = *traj.batch;
    std::vector<float> rewards(batch.size());
    TaskResult result;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (context.stop.stop_requested()) throw TaskStopped();
      const std::string response = response_text(traj, i);
      const double value = judge(traj, i, response);
      rewards[i] = static_cast<float>(value);
      const bool first_of_group = i == 0 || batch.group[i] != batch.group[i - 1];
      if (first_of_group && result.samples.size() < kSamplesShown) {
        result.samples.push_back({traj.prompts->text[static_cast<std::size_t>(batch.group[i])], response, value});
      }
    }
    const auto [mean, deviation] = mean_and_deviation(rewards);
    result.metrics = {{"reward/mean", mean}, {"reward/std", deviation}};
    result.outputs = {std::make_shared<Numbers>(Kind::reward, traj.batch, false, std::move(rewards))};
    return result;
  }

 private:
  std::string response_text(const Rollouts& traj, std::size_t i) const {
    const auto begin = static_cast<std::size_t>(traj.batch->offsets[i]);
    const auto length = static_cast<std::size_t>(traj.batch->length(i));
    return tokenizer_.decode_response(std::span(traj.tokens).subspan(begin, length));
  }

  double judge(const Rollouts& traj, std::size_t i, const std::string& response) const {
    const auto prompt = static_cast<std::size_t>(traj.batch->group[i]);
    const bool ended = traj.batch->finish[i] == static_cast<std::uint8_t>(FinishReason::stop);
    try {
      return judged_value(*reward_, {traj.prompts->text[prompt], response, traj.prompts->answer[prompt], ended});
    } catch (const std::exception& error) {
      throw std::runtime_error("reward `" + name_ + "`, response " + std::to_string(i) + ": " + error.what());
    }
  }

  std::string name_;
  std::unique_ptr<Reward> reward_;
  Tokenizer tokenizer_;
};

}  // namespace

std::unique_ptr<Node> make_score_node(const Plan& plan, NodeId node) {
  return std::make_unique<ScoreNode>(plan, plan.nodes[node.index()]);
}

}  // namespace rlflow
