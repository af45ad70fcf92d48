// How good is the policy on held-out prompts?
#include "nodes/evaluate_node.h"

#include <stdexcept>

#include "nodes/batches.h"
#include "nodes/data/dataset.h"
#include "nodes/evaluation_statistics.h"
#include "nodes/model_access.h"
#include "nodes/node_generation.h"
#include "nodes/plan_access.h"
#include "nodes/prompt_encoder.h"
#include "nodes/reward/reward.h"

namespace rlflow {
namespace {

constexpr std::size_t kSamplesShown = 3;

struct Question {
  DataRow row;
  std::string fields;  // of the row, for a judge outside
  std::vector<std::int32_t> tokens;
};

struct Questions {
  std::vector<Question> asked;
  std::int64_t skipped = 0;  // longer than max_prompt
  bool skips = false;
  std::vector<std::string> warnings;
};

Questions read_questions(const Plan& plan, const PlanNode& node, const Tokenizer& tokenizer, bool with_fields) {
  const PlanData& data = data_of(plan, node);
  const std::unique_ptr<Dataset> dataset = open_dataset(data, plan.root);
  const std::optional<std::int64_t> size = dataset->size();
  if (!size) {
    throw std::runtime_error("data `" + data.name + "` has no end, so it cannot be evaluated: give it a `size`");
  }
  const PromptEncoder encoder(data, model_folder(plan, node.tokenizer), tokenizer);
  Questions questions;
  questions.skips = encoder.skips();
  questions.warnings = dataset->warnings();
  for (std::string& warning : encoder.warnings()) questions.warnings.push_back(std::move(warning));
  for (std::int64_t i = 0; i < *size; ++i) {
    try {
      Question question{dataset->row(i), with_fields ? dataset->fields(i) : "", {}};
      std::optional<std::vector<std::int32_t>> tokens = encoder.prompt(question.row);
      questions.skipped += tokens ? 0 : 1;
      if (!tokens) continue;
      question.tokens = std::move(*tokens);
      questions.asked.push_back(std::move(question));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("data `" + data.name + "`, row " + std::to_string(i) + ": " + error.what());
    }
  }
  if (questions.asked.empty()) {
    throw std::runtime_error("data `" + data.name + "`: every prompt is longer than `max_prompt`");
  }
  return questions;
}

class EvaluateNode final : public Node {
 public:
  EvaluateNode(const Plan& plan, const PlanNode& node, const RewardPlace& place)
      : sampling_(plan, node, int_at(node.settings, "n"), RandomPurpose::evaluation),
        tokenizer_(tokenizer_of(plan, node)),
        reward_name_(reward_of(plan, node).name),
        reward_(make_reward(reward_of(plan, node), place)),
        workers_(static_cast<std::int32_t>(int_at(node.settings, "workers"))),
        questions_(read_questions(plan, node, tokenizer_, reward_->external())),
        generator_(make_generator(device_of(plan, node))) {
    for (const Question& question : questions_.asked) prompts_.push_back(question.tokens);
  }

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    return judge(generate(*generator_, sampling_, inputs, context, prompts_, {}), context);
  }

 private:
  const Question& question(std::size_t response) const {
    return questions_.asked[response / static_cast<std::size_t>(sampling_.samples)];
  }

  // And the answers of the responses. Throws std::runtime_error naming the reward for the first response without a
  // value.
  std::vector<double> rewards(const std::vector<Response>& responses, const std::vector<std::string>& texts,
                              const TaskContext& context, std::vector<std::string>& answers, TaskResult& result) {
    std::vector<RewardRequest> requests;
    for (std::size_t i = 0; i < responses.size(); ++i) {
      const Question& asked = question(i);
      requests.push_back(
          {asked.row.prompt, texts[i], asked.row.answer, responses[i].finish != FinishReason::length, asked.fields});
      answers.push_back(reward_->answer(requests.back()));
    }
    Judging how;
    how.stop = context.stop;
    how.workers = workers_;
    try {
      Judgement judgement = reward_->judge(requests, how);
      for (std::string& warning : judgement.warnings) result.warnings.push_back(std::move(warning));
      return values_of(judgement, requests);
    } catch (const TaskStopped&) {
      throw;
    } catch (const std::exception& error) {
      throw std::runtime_error("reward `" + reward_name_ + "`, " + error.what());
    }
  }

  TaskResult judge(const std::vector<Response>& responses, const TaskContext& context) {
    TaskResult result;
    result.warnings = questions_.warnings;
    std::vector<std::string> texts;
    for (const Response& response : responses) {
      texts.push_back(response_text(tokenizer_, response.tokens, response.finish, sampling_.stop()));
    }
    std::vector<std::string> answers;
    const std::vector<double> values = rewards(responses, texts, context, answers, result);
    double tokens = 0, cut = 0;
    for (std::size_t i = 0; i < responses.size(); ++i) {
      tokens += static_cast<double>(responses[i].tokens.size());
      cut += responses[i].finish == FinishReason::length ? 1 : 0;
      if (i % static_cast<std::size_t>(sampling_.samples) == 0 && result.samples.size() < kSamplesShown) {
        result.samples.push_back({question(i).row.prompt, texts[i], values[i]});
      }
    }
    const auto count = static_cast<double>(std::max<std::size_t>(1, responses.size()));
    auto metrics = std::make_shared<Metrics>();
    metrics->values = evaluation_statistics(values, answers, sampling_.samples);
    metrics->values.emplace_back("clip_ratio", cut / count);
    metrics->values.emplace_back("response_length/mean", tokens / count);
    if (questions_.skips) metrics->values.emplace_back("skipped", static_cast<double>(questions_.skipped));
    for (const auto& [name, value] : metrics->values) result.metrics.push_back({name, value});
    result.outputs = {std::move(metrics)};
    return result;
  }

  NodeSampling sampling_;
  Tokenizer tokenizer_;
  std::string reward_name_;
  std::unique_ptr<Reward> reward_;
  std::int32_t workers_;
  Questions questions_;
  std::vector<std::span<const std::int32_t>> prompts_;  // into questions_
  std::unique_ptr<Generator> generator_;
};

}  // namespace

std::unique_ptr<Node> make_evaluate_node(const Plan& plan, NodeId node, const RewardPlace& place) {
  return std::make_unique<EvaluateNode>(plan, plan.nodes[node.index()], place);
}

}  // namespace rlflow
