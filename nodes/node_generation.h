// How do the nodes that sample (rollout, evaluate) call the generation engine?
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nodes/rollout/generate.h"
#include "runtime/contract/node.h"
#include "runtime/contract/philox.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// What a node's settings and group say about sampling.
struct NodeSampling {
  // Throws std::runtime_error naming the node where min_new exceeds max_new; FormatError where stop texts need a
  // tokenizer that cannot be read.
  NodeSampling(const Plan& plan, const PlanNode& node, std::int64_t samples_per_prompt, RandomPurpose random_purpose);

  // Texts that end a response; empty: none.
  const std::vector<std::string>& stop() const;

  std::int64_t samples;
  SamplingSettings sampling;
  std::optional<std::int64_t> budget;
  std::int32_t threads;
  std::uint64_t round;  // of a filter's refill
  RandomPurpose purpose;

 private:
  friend std::vector<Response> generate(Generator&, const NodeSampling&, const TaskInputs&, const TaskContext&,
                                        std::span<const std::span<const std::int32_t>>,
                                        std::function<void(std::int64_t, std::span<const Response>)>);
  std::unique_ptr<Tokenizer> tokenizer_;  // set where there are stop texts, which borrow it
  std::unique_ptr<StopTexts> stop_texts_;
};

// Responses of the task's model, prompt by prompt. Reports progress in responses; throws TaskStopped.
// `prompt_finished` as in GenerationSettings.
std::vector<Response> generate(
    Generator& generator, const NodeSampling& sampling, const TaskInputs& inputs, const TaskContext& context,
    std::span<const std::span<const std::int32_t>> prompts,
    std::function<void(std::int64_t prompt, std::span<const Response> samples)> prompt_finished);

}  // namespace rlflow
