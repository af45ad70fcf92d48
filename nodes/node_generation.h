// How do the nodes that sample (rollout, evaluate) call the generation engine?
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nodes/rollout/generate.h"
#include "runtime/contract/node.h"
#include "runtime/contract/philox.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// What a node's settings and group say about sampling.
struct NodeSampling {
  NodeSampling(const Plan& plan, const PlanNode& node, std::int64_t samples_per_prompt, RandomPurpose random_purpose);

  std::int64_t samples;
  std::int64_t max_new;
  double temperature;
  std::int32_t threads;
  RandomPurpose purpose;
};

// Responses of the task's model, prompt by prompt. Reports progress in responses; throws TaskStopped.
// `prompt_finished` as in GenerationSettings.
std::vector<Response> generate(
    Generator& generator, const NodeSampling& sampling, const TaskInputs& inputs, const TaskContext& context,
    std::span<const std::span<const std::int32_t>> prompts,
    std::function<void(std::int64_t prompt, std::span<const Response> samples)> prompt_finished = {});

}  // namespace rlflow
