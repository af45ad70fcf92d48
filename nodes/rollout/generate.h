// How responses are sampled: batched decoding with a KV cache, a prompt read once for all of its samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "nodes/model/transformer.h"
#include "runtime/contract/philox.h"

namespace rlflow {

struct Response;

struct GenerationSettings {
  std::int64_t samples = 1;  // for each prompt
  std::int64_t max_new = 1;  // most tokens of a response, the end token included
  double temperature = 1;    // 0: the most likely token, log-probabilities at temperature 1
  RandomPurpose purpose = RandomPurpose::sampling;
  std::uint64_t run_seed = 1;
  std::uint64_t step = 0;  // with run_seed, prompt index and sample index: the key of a response
  std::int32_t threads = 1;
  std::stop_token stop;                                 // polled at each decode step
  std::function<void(std::int64_t finished)> progress;  // responses finished so far; one call at a time; may be empty
  // All samples of a prompt are finished; one call at a time, beside `progress`; may be empty.
  std::function<void(std::int64_t prompt, std::span<const Response> samples)> prompt_finished;
};

struct Response {
  std::vector<std::int32_t> tokens;  // the end token included
  std::vector<float> logprob;        // of softmax(z/T) over the whole vocabulary, one a token
  bool ended = false;                // an end token was produced; false: cut off at max_new
};

// Buffers that are used again from call to call; one caller at a time.
class Generator {
 public:
  Generator();
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // Prompts (none empty) → responses, prompt by prompt, `samples` each. Token, log-probability and length of a
  // response depend on weights, its prompt and its key alone, never on what is generated beside it or on `threads`.
  // Throws std::runtime_error when a prompt and max_new exceed the model's positions; returns false when stopped.
  bool run(const TransformerView& model, std::span<const std::span<const std::int32_t>> prompts,
           const GenerationSettings& settings, std::vector<Response>& responses);

 private:
  struct Lane;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace rlflow
