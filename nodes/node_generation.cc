// From a task's context to the generation engine's settings.
#include "nodes/node_generation.h"

#include <utility>

#include "nodes/model_access.h"

namespace rlflow {

NodeSampling::NodeSampling(const Plan& plan, const PlanNode& node, std::int64_t samples_per_prompt,
                           RandomPurpose random_purpose)
    : samples(samples_per_prompt),
      max_new(int_at(node.settings, "max_new")),
      temperature(real_at(node.settings, "temperature")),
      threads(threads_of(plan, node)),
      purpose(random_purpose) {}

std::vector<Response> generate(
    Generator& generator, const NodeSampling& sampling, const TaskInputs& inputs, const TaskContext& context,
    std::span<const std::span<const std::int32_t>> prompts,
    std::function<void(std::int64_t prompt, std::span<const Response> samples)> prompt_finished) {
  GenerationSettings settings{.samples = sampling.samples,
                              .max_new = sampling.max_new,
                              .temperature = sampling.temperature,
                              .purpose = sampling.purpose,
                              .run_seed = context.run_seed,
                              .step = static_cast<std::uint64_t>(context.step),
                              .threads = sampling.threads,
                              .stop = context.stop,
                              .progress = {},
                              .prompt_finished = std::move(prompt_finished)};
  const auto total = static_cast<std::int64_t>(prompts.size()) * sampling.samples;
  if (context.progress) {
    settings.progress = [&](std::int64_t done) { context.progress(context.progress_self, done, total); };
  }
  std::vector<Response> responses;
  if (!generator.run(model_of(inputs).view(), prompts, settings, responses)) throw TaskStopped();
  return responses;
}

}  // namespace rlflow
