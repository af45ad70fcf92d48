// What generators of all devices share: checks of what is asked, the division into prompts to read, and what is told of
// a run while it goes on.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/rollout/generate.h"

namespace rlflow {

using Prompts = std::span<const std::span<const std::int32_t>>;

// A prompt and those of its responses that are generated beside each other.
struct PromptWork {
  std::span<const std::int32_t> tokens;
  std::vector<std::int64_t> responses;  // indexes among all responses, ascending
};

// Throws std::runtime_error where a prompt and max_new exceed the model's positions.
void check_positions(const ModelConfig& config, Prompts prompts, std::int64_t max_new);

// Blocks of `block_tokens` tokens of the longest sequence there can be. The last token of a response is never read.
std::int64_t longest_sequence(Prompts prompts, std::int64_t max_new, std::int64_t block_tokens);

// Throws std::runtime_error where the budget does not hold `longest` blocks.
void check_budget(std::int64_t budget, std::int64_t longest, std::int64_t block_tokens);

// Equal prompts are read once: their responses are the work of the first of them. Work of more than `most` responses
// is divided.
std::vector<PromptWork> divide(Prompts prompts, std::int64_t samples, std::int64_t most);

// The key of a response's noise.
std::uint64_t response_key(const GenerationSettings& settings, std::int64_t response);

// Tells of a run, one call at a time; may be called by several threads.
class Teller {
 public:
  Teller(const GenerationSettings& settings, std::span<const Response> responses)
      : settings_(settings),
        responses_(responses),
        unfinished_(responses.size() / static_cast<std::size_t>(settings.samples), settings.samples) {}

  void extended(std::int64_t response, bool finished);
  void finished(std::span<const std::int64_t> responses);

 private:
  const GenerationSettings& settings_;
  std::span<const Response> responses_;
  std::mutex mutex_;  // guards what follows, and the calls
  std::int64_t finished_ = 0;
  std::vector<std::int64_t> unfinished_;  // of each prompt
};

}  // namespace rlflow
