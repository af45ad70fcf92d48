// From logits to the next token of a response, and whether it is the last.
#pragma once

#include <cstdint>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/rollout/generate.h"

namespace rlflow {

// Appends to `response` the token drawn from z f32[vocabulary], with its log-probability, and sets `finish` when it is
// the last. `key` is the response's. z is changed and restored; `scratch` grows. Returns whether the response goes on.
bool extend_response(const GenerationSettings& settings, const ModelConfig& config, std::uint64_t key, float* z,
                     std::vector<float>& scratch, Response& response);

// Sets response.finish by the newest of its tokens; returns whether the response goes on.
bool goes_on(const GenerationSettings& settings, const ModelConfig& config, Response& response);

}  // namespace rlflow
