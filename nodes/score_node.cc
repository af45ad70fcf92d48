// How the texts of a trajectory reach a judge, and what becomes of its verdicts.
#include "nodes/score_node.h"

#include <cmath>
#include <map>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "nodes/batches.h"
#include "nodes/common_rows.h"
#include "nodes/early_groups.h"
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

// The texts of a trajectory, kept while they are judged.
struct JudgedTexts {
  std::vector<std::string> responses, rows;
  std::vector<RewardRequest> requests;
  std::span<const std::int32_t> group;  // of the responses
};

constexpr const char* kErrors = "reward/errors";
constexpr const char* kTimeouts = "reward/timeouts";

struct Rewards {
  std::vector<float> values;                     // one a response, as far as they are known
  std::vector<std::size_t> missing;              // responses that have not been judged yet
  std::map<std::int32_t, std::string> failures;  // groups with a response that could not be judged, and why
  double errors = 0, timeouts = 0;
  std::vector<std::string> warnings;
};

double metric_named(const TaskResult& result, std::string_view name) {
  for (const Metric& metric : result.metrics) {
    if (metric.name == name) return metric.value;
  }
  return 0;
}

Rewards early_rewards(const BatchDescriptor& batch, const std::vector<std::shared_ptr<const TaskResult>>& early) {
  EarlyNumbers numbers = early_numbers(batch, early);
  Rewards rewards;
  for (const TaskResult* group : numbers.groups) {
    rewards.errors += metric_named(*group, kErrors);
    rewards.timeouts += metric_named(*group, kTimeouts);
    rewards.warnings.insert(rewards.warnings.end(), group->warnings.begin(), group->warnings.end());
  }
  rewards.values = std::move(numbers.values);
  rewards.missing = std::move(numbers.missing);
  return rewards;
}

// Of the groups that stay.
std::vector<float> kept_values(const BatchDescriptor& batch, const Rewards& rewards) {
  std::vector<float> values;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!rewards.failures.contains(batch.group[i])) values.push_back(rewards.values[i]);
  }
  return values;
}

class ScoreNode final : public Node {
 public:
  ScoreNode(ScoreSettings settings, std::unique_ptr<Reward> reward, Tokenizer tokenizer, std::unique_ptr<Dataset> rows)
      : settings_(std::move(settings)),
        reward_(std::move(reward)),
        tokenizer_(std::move(tokenizer)),
        rows_(std::move(rows)) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    const auto& traj = input_as<Rollouts>(inputs, 1);
    const JudgedTexts texts = texts_of(traj);
    Rewards rewards = early_rewards(*traj.batch, inputs.early);
    judge_rest(texts, context, rewards);
    TaskResult result;
    const BatchPtr batch = drop(traj, context, rewards, result);
    for (std::size_t i = 0; i < traj.batch->size() && result.samples.size() < kSamplesShown; ++i) {
      const bool first_of_group = i == 0 || traj.batch->group[i] != traj.batch->group[i - 1];
      if (first_of_group && !rewards.failures.contains(traj.batch->group[i])) {
        result.samples.push_back({std::string(texts.requests[i].prompt), texts.responses[i], rewards.values[i]});
      }
    }
    std::vector<float> kept = kept_values(*traj.batch, rewards);
    if (!kept.empty()) {
      const auto [mean, deviation] = mean_and_deviation(kept);
      result.metrics = {{"reward/mean", mean},
                        {"reward/std", deviation},
                        {"frac_reward_zero_std", uniform_share(batch->group, kept)}};
    }
    if (reward_->external()) {
      result.metrics.push_back({kErrors, rewards.errors});
      result.metrics.push_back({kTimeouts, rewards.timeouts});
    }
    if (settings_.drop_groups) {
      result.metrics.push_back({"reward/dropped", static_cast<double>(rewards.failures.size())});
    }
    result.warnings.insert(result.warnings.end(), rewards.warnings.begin(), rewards.warnings.end());
    result.outputs = {std::make_shared<Numbers>(Kind::reward, batch, false, std::move(kept))};
    return result;
  }

  bool works_by_group() const override { return true; }
  bool retries_by_sample() const override { return true; }

 private:
  std::string place() const { return "reward `" + settings_.reward + "`, "; }

  JudgedTexts texts_of(const Rollouts& traj) const {
    JudgedTexts texts;
    const std::size_t count = traj.batch->size();
    texts.group = traj.batch->group;
    for (std::size_t i = 0; i < count; ++i) texts.responses.push_back(response_text(traj, i));
    for (std::size_t p = 0; rows_ && p < traj.prompts->text.size(); ++p) {
      texts.rows.push_back(rows_->fields(traj.prompts->source_row[p]));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto prompt = static_cast<std::size_t>(traj.batch->group[i]);
      const bool ended = traj.batch->finish[i] != static_cast<std::uint8_t>(FinishReason::length);
      texts.requests.push_back({traj.prompts->text[prompt], texts.responses[i], traj.prompts->answer[prompt], ended,
                                rows_ ? std::string_view(texts.rows[prompt]) : std::string_view()});
    }
    return texts;
  }

  std::string response_text(const Rollouts& traj, std::size_t i) const {
    const auto begin = static_cast<std::size_t>(traj.batch->offsets[i]);
    const auto ids = std::span(traj.tokens).subspan(begin, static_cast<std::size_t>(traj.batch->length(i)));
    for (std::int32_t id : ids) {
      if (id >= tokenizer_.vocabulary_size()) {
        throw std::runtime_error(place() + "response " + std::to_string(i) + ": token " + std::to_string(id) +
                                 " is not one of the tokenizer's " + std::to_string(tokenizer_.vocabulary_size()));
      }
    }
    return rlflow::response_text(tokenizer_, ids, static_cast<FinishReason>(traj.batch->finish[i]), traj.batch->stop);
  }

  // Judges the responses that have no reward yet.
  void judge_rest(const JudgedTexts& texts, const TaskContext& context, Rewards& rewards) {
    std::vector<RewardRequest> requests;
    for (std::size_t i : rewards.missing) requests.push_back(texts.requests[i]);
    if (requests.empty()) return;
    Judgement judgement = judge(requests, context);
    for (std::size_t k = 0; k < requests.size(); ++k) {
      const std::size_t i = rewards.missing[k];
      const RewardVerdict& verdict = judgement.verdicts[k];
      if (verdict.ok()) {
        rewards.values[i] = static_cast<float>(verdict.value);
      } else if (settings_.drop_groups) {
        rewards.failures.try_emplace(texts.group[i], failure_text(verdict, requests[k], i));
      } else {
        throw std::runtime_error(place() + failure_text(verdict, requests[k], i));
      }
    }
    rewards.errors += static_cast<double>(judgement.errors);
    rewards.timeouts += static_cast<double>(judgement.timeouts);
    for (std::string& warning : judgement.warnings) rewards.warnings.push_back(std::move(warning));
  }

  // The batch without the groups that have a response without a reward.
  BatchPtr drop(const Rollouts& traj, const TaskContext& context, const Rewards& rewards, TaskResult& result) const {
    if (rewards.failures.empty()) return traj.batch;
    std::vector<std::int32_t> dropped;
    std::string numbers;
    for (const auto& [group, why] : rewards.failures) {
      dropped.push_back(group);
      numbers += (numbers.empty() ? "" : ",") + std::to_string(group);
      result.warnings.push_back(place() + "step " + std::to_string(context.step) + " goes on without group " +
                                std::to_string(group) + ": " + why);
    }
    BatchPtr batch = without_groups(*traj.batch, dropped);
    if (batch->size() == 0) {
      throw std::runtime_error(place() + "no group is left, each has a response without a reward; " +
                               rewards.failures.begin()->second);
    }
    result.decisions["dropped"] = numbers;
    return batch;
  }

  Judgement judge(std::span<const RewardRequest> requests, const TaskContext& context) {
    Judging how;
    how.retry = settings_.retry;
    how.timeout_ms = settings_.timeout_ms;
    how.workers = settings_.workers;
    how.stop = context.stop;
    if (context.progress != nullptr) {
      how.progress = [&context](std::int64_t done, std::int64_t total) {
        context.progress(context.progress_self, done, total);
      };
    }
    try {
      return reward_->judge(requests, how);
    } catch (const TaskStopped&) {
      throw;
    } catch (const std::exception& error) {
      throw std::runtime_error(place() + error.what());
    }
  }

  ScoreSettings settings_;
  std::unique_ptr<Reward> reward_;
  Tokenizer tokenizer_;
  std::unique_ptr<Dataset> rows_;  // null: nobody asks for fields
};

}  // namespace

std::unique_ptr<Node> make_score_node(ScoreSettings settings, std::unique_ptr<Reward> reward, Tokenizer tokenizer,
                                      std::unique_ptr<Dataset> rows) {
  return std::make_unique<ScoreNode>(std::move(settings), std::move(reward), std::move(tokenizer), std::move(rows));
}

std::unique_ptr<Node> make_score_node(const Plan& plan, NodeId id, const RewardPlace& place) {
  const PlanNode& node = plan.nodes[id.index()];
  const PlanReward& declared = reward_of(plan, node);
  std::unique_ptr<Reward> reward = make_reward(declared, place);
  const PlanData* data = reward->external() ? data_behind(plan, node) : nullptr;
  ScoreSettings settings{declared.name, node.retry, node.timeout_ms,
                         static_cast<std::int32_t>(int_at(node.settings, "workers")),
                         node.on_failure == OnFailure::drop_group};
  return make_score_node(std::move(settings), std::move(reward), tokenizer_of(plan, node),
                         data != nullptr ? open_dataset(*data, plan.root) : nullptr);
}

}  // namespace rlflow
