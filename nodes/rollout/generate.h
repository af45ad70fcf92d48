// How responses are sampled: continuous batching over slots, keys and values in blocks, a prompt read once for all of
// its samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "nodes/format/response_text.h"
#include "nodes/model/language_model.h"
#include "runtime/contract/philox.h"
#include "runtime/contract/plan.h"

namespace rlflow {

struct Response;

// What a response is drawn from. Logits z are divided by the temperature; then, in the order of transformers'
// generation_utils: top_k, top_p of what top_k keeps, min_p of what that keeps (against the most likely token, so where
// it stands does not matter). Ties at a border stay, so that the kept set is all with at least some logit. The token is
// the argmax of z/T + Gumbel noise over the kept set, ties to the lower id.
struct SamplingSettings {
  std::int64_t max_new = 1;  // most tokens of a response, the end token included
  std::int64_t min_new = 0;  // no end token, and no stop text, before this many tokens
  double temperature = 1;    // 0: the most likely token, log-probabilities at temperature 1
  std::int64_t top_k = 0;    // the k most likely; 0: all
  double top_p = 1;          // the smallest set of the most likely with this share of the probability; 1: all
  double min_p = 0;          // those with at least this share of the most likely one's probability; 0: all
};

struct GenerationSettings {
  std::int64_t samples = 1;  // for each prompt
  SamplingSettings sampling;
  const StopTexts* stop_texts = nullptr;  // borrowed; null: none
  RandomPurpose purpose = RandomPurpose::sampling;
  std::uint64_t run_seed = 1;
  std::uint64_t step = 0;   // with run_seed, round, prompt index and sample index: the key of a response
  std::uint64_t round = 0;  // of a filter's refill
  std::int32_t threads = 1;
  // Most responses that are decoded together: by one lane (a thread) of the CPU, absent: 64; on a GPU, absent: 1024.
  std::optional<std::int64_t> slots;
  std::optional<std::int64_t> budget;  // most tokens whose keys and values are held at once, over all lanes
  std::stop_token stop;                // polled at each decode step
  std::function<void(std::int64_t finished)> progress;  // responses finished so far; may be empty
  // A response has one more token, and is finished with it or not; its index among all responses. May be empty.
  std::function<void(std::int64_t response, const Response& so_far, bool finished)> extended;
  // All samples of a prompt are finished; may be empty. Of these three one is called at a time.
  std::function<void(std::int64_t prompt, std::span<const Response> samples)> prompt_finished;
};

struct Response {
  std::vector<std::int32_t> tokens;  // the end token, or those of the stop text, included
  std::vector<float> logprob;        // of softmax(z/T) over the whole vocabulary, one a token
  FinishReason finish = FinishReason::length;
};

// What a run of the generator took; sums over its lanes.
struct GenerationReport {
  std::int64_t lanes = 0;
  std::int64_t peak_blocks = 0;  // of 16 tokens, held at once; of each lane its own peak
  std::int64_t block_bytes = 0;
  std::int64_t rows = 0;         // tokens read, prompts and repetition included
  std::int64_t preemptions = 0;  // responses that gave their blocks back before they were finished
};

// Samples on one kind of device; its buffers are used again from call to call. One caller at a time.
class Generator {
 public:
  virtual ~Generator() = default;

  // Prompts (none empty) → responses, prompt by prompt, `samples` each, of a model that stands on such a device. Token,
  // log-probability and length of a response depend on weights, its prompt and its key alone: never on what is
  // generated beside it, on `threads`, `slots` or `budget`; on a GPU up to the rounding that docs/gpu.md states, though
  // equal calls give equal bits there too. Throws std::runtime_error when a prompt and max_new exceed
  // the model's positions or the budget; returns false when stopped.
  virtual bool run(const LanguageModel& model, std::span<const std::span<const std::int32_t>> prompts,
                   const GenerationSettings& settings, std::vector<Response>& responses) = 0;

  virtual const GenerationReport& report() const = 0;  // of the latest run
};

// For models on a device of that kind. Throws std::runtime_error where this build has no backend for it.
std::unique_ptr<Generator> make_generator(DeviceKind device);

}  // namespace rlflow
