// How responses are judged, one by one.
#include "nodes/score_node.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "nodes/batches.h"
#include "nodes/payload_cast.h"
#include "nodes/plan_access.h"

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

// Share of the groups whose rewards are all equal, from which a group-wise advantage learns nothing.
double uniform_share(const std::vector<std::int32_t>& group, const std::vector<float>& rewards) {
  std::size_t groups = 0, uniform = 0;
  for (std::size_t begin = 0, end = 0; begin < group.size(); begin = end) {
    bool equal = true;
    for (end = begin; end < group.size() && group[end] == group[begin]; ++end) equal &= rewards[end] == rewards[begin];
    ++groups;
    uniform += equal;
  }
  return groups == 0 ? 0 : static_cast<double>(uniform) / static_cast<double>(groups);
}

class ScoreNode final : public Node {
 public:
  ScoreNode(std::string name, std::unique_ptr<Reward> reward, Tokenizer tokenizer, std::int32_t retry)
      : name_(std::move(name)), reward_(std::move(reward)), tokenizer_(std::move(tokenizer)), retry_(retry) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    const auto& traj = input_as<Rollouts>(inputs, 1);
    const BatchDescriptor& batch = *traj.batch;
    std::vector<float> rewards(batch.size());
    TaskResult result;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (context.stop.stop_requested()) throw TaskStopped();
      const std::string response = response_text(traj, i);
      rewards[i] = static_cast<float>(judge(traj, i, response));
      const bool first_of_group = i == 0 || batch.group[i] != batch.group[i - 1];
      if (first_of_group && result.samples.size() < kSamplesShown) {
        result.samples.push_back({traj.prompts->text[static_cast<std::size_t>(batch.group[i])], response, rewards[i]});
      }
    }
    const auto [mean, deviation] = mean_and_deviation(rewards);
    result.metrics = {{"reward/mean", mean},
                      {"reward/std", deviation},
                      {"frac_reward_zero_std", uniform_share(batch.group, rewards)}};
    result.outputs = {std::make_shared<Numbers>(Kind::reward, traj.batch, false, std::move(rewards))};
    return result;
  }

 private:
  std::string place(std::size_t i) const { return "reward `" + name_ + "`, response " + std::to_string(i) + ": "; }

  std::string response_text(const Rollouts& traj, std::size_t i) const {
    const auto begin = static_cast<std::size_t>(traj.batch->offsets[i]);
    const auto ids = std::span(traj.tokens).subspan(begin, static_cast<std::size_t>(traj.batch->length(i)));
    for (std::int32_t id : ids) {
      if (id >= tokenizer_.vocabulary_size()) {
        throw std::runtime_error(place(i) + "token " + std::to_string(id) + " is not one of the tokenizer's " +
                                 std::to_string(tokenizer_.vocabulary_size()));
      }
    }
    return tokenizer_.decode_response(ids);
  }

  // Judges one response, again after each failure as often as `retry` says.
  double judge(const Rollouts& traj, std::size_t i, const std::string& response) const {
    const auto prompt = static_cast<std::size_t>(traj.batch->group[i]);
    const bool ended = traj.batch->finish[i] == static_cast<std::uint8_t>(FinishReason::stop);
    for (std::int32_t failures = 0;;) {
      try {
        return judged_value(*reward_, {traj.prompts->text[prompt], response, traj.prompts->answer[prompt], ended});
      } catch (const std::exception& error) {
        if (failures++ >= retry_) throw std::runtime_error(place(i) + error.what());
      }
    }
  }

  std::string name_;
  std::unique_ptr<Reward> reward_;
  Tokenizer tokenizer_;
  std::int32_t retry_;
};

}  // namespace

std::unique_ptr<Node> make_score_node(std::string reward_name, std::unique_ptr<Reward> reward, Tokenizer tokenizer,
                                      std::int32_t retry) {
  return std::make_unique<ScoreNode>(std::move(reward_name), std::move(reward), std::move(tokenizer), retry);
}

std::unique_ptr<Node> make_score_node(const Plan& plan, NodeId id) {
  const PlanNode& node = plan.nodes[id.index()];
  const PlanReward& reward = reward_of(plan, node);
  return make_score_node(reward.name, make_reward(reward), tokenizer_of(plan, node), node.retry);
}

}  // namespace rlflow
