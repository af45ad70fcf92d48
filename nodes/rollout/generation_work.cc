// What generators of all devices share.
#include "nodes/rollout/generation_work.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "runtime/contract/check.h"

namespace rlflow {

void check_positions(const ModelConfig& config, Prompts prompts, std::int64_t max_new) {
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    RLFLOW_CHECK(!prompts[i].empty(), "an empty prompt");
    const auto length = static_cast<std::int64_t>(prompts[i].size());
    if (length + max_new > config.max_positions) {
      throw std::runtime_error("prompt " + std::to_string(i) + " has " + std::to_string(length) +
                               " tokens: with max_new = " + std::to_string(max_new) + " it exceeds the model's " +
                               std::to_string(config.max_positions) +
                               " positions (max_position_embeddings); lower max_new");
    }
  }
}

std::int64_t longest_sequence(Prompts prompts, std::int64_t max_new, std::int64_t block_tokens) {
  const auto blocks_for = [&](std::int64_t tokens) { return (tokens + block_tokens - 1) / block_tokens; };
  std::int64_t longest = 0;
  for (const auto& prompt : prompts) longest = std::max(longest, blocks_for(static_cast<std::int64_t>(prompt.size())));
  return longest + blocks_for(max_new - 1);
}

void check_budget(std::int64_t budget, std::int64_t longest, std::int64_t block_tokens) {
  if (budget / block_tokens >= longest) return;
  throw std::runtime_error("a budget of " + std::to_string(budget) +
                           " tokens does not hold the longest prompt with max_new tokens, which takes " +
                           std::to_string(longest * block_tokens) + "; raise `budget` or lower max_new");
}

std::vector<PromptWork> divide(Prompts prompts, std::int64_t samples, std::int64_t most) {
  std::map<std::vector<std::int32_t>, std::size_t> first;  // ordered, though no result depends on it
  std::vector<PromptWork> whole, parts;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto [at, is_new] = first.emplace(std::vector(prompts[i].begin(), prompts[i].end()), whole.size());
    if (is_new) whole.push_back({prompts[i], {}});
    for (std::int64_t s = 0; s < samples; ++s) {
      whole[at->second].responses.push_back(static_cast<std::int64_t>(i) * samples + s);
    }
  }
  for (const PromptWork& work : whole) {
    for (std::size_t begin = 0; begin < work.responses.size(); begin += static_cast<std::size_t>(most)) {
      const std::size_t end = std::min(work.responses.size(), begin + static_cast<std::size_t>(most));
      parts.push_back({work.tokens,
                       {work.responses.begin() + static_cast<std::ptrdiff_t>(begin),
                        work.responses.begin() + static_cast<std::ptrdiff_t>(end)}});
    }
  }
  return parts;
}

std::uint64_t response_key(const GenerationSettings& settings, std::int64_t response) {
  const auto prompt = static_cast<std::uint64_t>(response / settings.samples);
  return h64(settings.purpose, {settings.run_seed, settings.step, prompt + (settings.round << 32),
                                static_cast<std::uint64_t>(response % settings.samples)});
}

void Teller::extended(std::int64_t response, bool finished) {
  const std::lock_guard lock(mutex_);
  settings_.extended(response, responses_[static_cast<std::size_t>(response)], finished);
}

void Teller::finished(std::span<const std::int64_t> responses) {
  const std::lock_guard lock(mutex_);
  finished_ += static_cast<std::int64_t>(responses.size());
  if (settings_.progress) settings_.progress(finished_);
  const auto samples = static_cast<std::size_t>(settings_.samples);
  for (std::int64_t response : responses) {
    const std::size_t prompt = static_cast<std::size_t>(response) / samples;
    if (--unfinished_[prompt] > 0 || !settings_.prompt_finished) continue;
    settings_.prompt_finished(static_cast<std::int64_t>(prompt), responses_.subspan(prompt * samples, samples));
  }
}

}  // namespace rlflow
