// Prompts with their sampled responses, as the training pass packs them, and what sampling said of each token.
#pragma once

#include <cstdint>
#include <vector>

#include "nodes/model/chunks.h"
#include "nodes/rollout/generate.h"

namespace rlflow::testing {

struct PackedResponses {
  // `responses`: `samples` of each prompt, prompt by prompt.
  PackedResponses(const std::vector<std::vector<std::int32_t>>& prompts, const std::vector<Response>& responses,
                  std::int64_t samples) {
    for (const auto& prompt : prompts) {
      prompt_tokens.insert(prompt_tokens.end(), prompt.begin(), prompt.end());
      prompt_offsets.push_back(static_cast<std::int64_t>(prompt_tokens.size()));
    }
    for (std::size_t i = 0; i < responses.size(); ++i) {
      tokens.insert(tokens.end(), responses[i].tokens.begin(), responses[i].tokens.end());
      sampled.insert(sampled.end(), responses[i].logprob.begin(), responses[i].logprob.end());
      offsets.push_back(static_cast<std::int64_t>(tokens.size()));
      group.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(i) / samples));
      all.push_back(static_cast<std::int64_t>(i));
    }
  }
  std::vector<Chunk> chunks(std::int64_t budget) const {
    return pack_responses({prompt_tokens, prompt_offsets}, {tokens, offsets}, group, all, budget);
  }

  std::vector<std::int32_t> prompt_tokens, tokens, group;
  std::vector<std::int64_t> prompt_offsets{0}, offsets{0}, all;
  std::vector<float> sampled;  // log-probabilities, one a token of `tokens`
};

}  // namespace rlflow::testing
