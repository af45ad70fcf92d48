// From a task's context to the generation engine's settings.
#include "nodes/node_generation.h"

#include <stdexcept>
#include <utility>

#include "nodes/model_access.h"
#include "nodes/plan_access.h"

namespace rlflow {
namespace {

SamplingSettings sampling_settings(const PlanNode& node) {
  SamplingSettings sampling;
  const Attributes& settings = node.settings;
  sampling.max_new = int_at(settings, "max_new");
  sampling.temperature = real_at(settings, "temperature");
  if (has(settings, "min_new")) sampling.min_new = int_at(settings, "min_new");
  if (has(settings, "top_k")) sampling.top_k = int_at(settings, "top_k");
  if (has(settings, "top_p")) sampling.top_p = real_at(settings, "top_p");
  if (has(settings, "min_p")) sampling.min_p = real_at(settings, "min_p");
  if (sampling.min_new > sampling.max_new) {
    throw std::runtime_error("node `" + node.name + "`: min_new = " + std::to_string(sampling.min_new) +
                             " is more than max_new = " + std::to_string(sampling.max_new) + "; lower min_new");
  }
  return sampling;
}

// An evaluation without a budget of its own keeps to that of its replica's rollout, as `plan` counts.
std::optional<std::int64_t> budget_of(const Plan& plan, const PlanNode& node) {
  if (has(node.settings, "budget")) return int_at(node.settings, "budget");
  for (const PlanNode& other : plan.nodes) {
    if (node.op == "evaluate" && other.replica == node.replica && has(other.settings, "budget"))
      return int_at(other.settings, "budget");
  }
  return std::nullopt;
}

}  // namespace

NodeSampling::NodeSampling(const Plan& plan, const PlanNode& node, std::int64_t samples_per_prompt,
                           RandomPurpose random_purpose)
    : samples(samples_per_prompt),
      sampling(sampling_settings(node)),
      budget(budget_of(plan, node)),
      threads(threads_of(plan, node)),
      round(static_cast<std::uint64_t>(node.round)),
      purpose(random_purpose) {
  if (!has(node.settings, "stop")) return;
  std::vector<std::string> texts;
  for (const Value& text : *value_at(node.settings, "stop").get<List>()) texts.push_back(*text.get<std::string>());
  if (texts.empty()) return;
  tokenizer_ = std::make_unique<Tokenizer>(tokenizer_of(plan, node));
  stop_texts_ = std::make_unique<StopTexts>(*tokenizer_, std::move(texts));
}

const std::vector<std::string>& NodeSampling::stop() const {
  static const std::vector<std::string> kNone;
  return stop_texts_ ? stop_texts_->texts() : kNone;
}

std::vector<Response> generate(
    Generator& generator, const NodeSampling& sampling, const TaskInputs& inputs, const TaskContext& context,
    std::span<const std::span<const std::int32_t>> prompts,
    std::function<void(std::int64_t prompt, std::span<const Response> samples)> prompt_finished) {
  GenerationSettings settings;
  settings.samples = sampling.samples;
  settings.sampling = sampling.sampling;
  settings.stop_texts = sampling.stop_texts_.get();
  settings.purpose = sampling.purpose;
  settings.run_seed = context.run_seed;
  settings.step = static_cast<std::uint64_t>(context.step);
  settings.round = sampling.round;
  settings.threads = sampling.threads;
  settings.budget = sampling.budget;
  settings.stop = context.stop;
  settings.prompt_finished = std::move(prompt_finished);
  const auto total = static_cast<std::int64_t>(prompts.size()) * sampling.samples;
  if (context.progress) {
    settings.progress = [&](std::int64_t done) { context.progress(context.progress_self, done, total); };
  }
  std::vector<Response> responses;
  if (!generator.run(model_of(inputs), prompts, settings, responses)) throw TaskStopped();
  return responses;
}

}  // namespace rlflow
