// From logits to the next token of a response, and whether it is the last.
#pragma once

#include <cstdint>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/model/cpu/kernels.h"
#include "nodes/rollout/generate.h"

namespace rlflow {

// Draws from z f32[vocabulary], what all responses that have come here with the same tokens choose their next one from.
class NextToken {
 public:
  // z is changed while this lives, and restored between calls; `scratch` grows. All are borrowed.
  NextToken(const GenerationSettings& settings, const ModelConfig& config, float* z, std::vector<float>& scratch);
  // Appends a token to `response`, with its log-probability, and sets `finish` when it is the last. `key` is the
  // response's. Returns whether the response goes on.
  bool extend(std::uint64_t key, Response& response);

 private:
  std::int32_t choose(std::uint64_t key, std::uint32_t position);

  const GenerationSettings& settings_;
  const ModelConfig& config_;
  float* z_;
  std::vector<float>& scratch_;
  float inverse_temperature_;
  cpu::Softmax softmax_;
};

// Sets response.finish by the newest of its tokens; returns whether the response goes on.
bool goes_on(const GenerationSettings& settings, const ModelConfig& config, Response& response);

}  // namespace rlflow
