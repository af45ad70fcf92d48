// How responses are sampled: prompts are shared out to lanes, which generate independently of each other.
#include "nodes/rollout/generate.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>

#include "nodes/model/lanes.h"
#include "nodes/rollout/decode_lane.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// Responses that one lane decodes together: enough rows for an efficient product, few enough for several threads.
constexpr std::int64_t kLaneResponses = 64;

void check_positions(const ModelConfig& config, std::span<const std::span<const std::int32_t>> prompts,
                     std::int64_t max_new) {
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

}  // namespace

struct Generator::Lane : DecodeLane {};

Generator::Generator() = default;
Generator::~Generator() = default;

bool Generator::run(const TransformerView& model, std::span<const std::span<const std::int32_t>> prompts,
                    const GenerationSettings& settings, std::vector<Response>& responses) {
  check_positions(model.config, prompts, settings.max_new);
  const auto count = static_cast<std::int64_t>(prompts.size());
  const std::int64_t share = std::max<std::int64_t>(1, kLaneResponses / settings.samples);  // prompts of a lane
  const std::int64_t lanes = (count + share - 1) / share;
  while (static_cast<std::int64_t>(lanes_.size()) < lanes) lanes_.push_back(std::make_unique<Lane>());
  responses.assign(static_cast<std::size_t>(count * settings.samples), {});

  std::mutex mutex;  // guards what is counted, and the calls of progress and prompt_finished
  std::int64_t finished = 0;
  std::vector<std::int64_t> unfinished(prompts.size(), settings.samples);
  const auto count_finished = [&](std::int64_t first_prompt, std::span<const std::int64_t> slots) {
    const std::lock_guard lock(mutex);
    finished += static_cast<std::int64_t>(slots.size());
    if (settings.progress) settings.progress(finished);
    for (std::int64_t slot : slots) {
      const std::int64_t prompt = first_prompt + slot / settings.samples;
      if (--unfinished[static_cast<std::size_t>(prompt)] > 0 || !settings.prompt_finished) continue;
      const auto samples = static_cast<std::size_t>(settings.samples);
      settings.prompt_finished(prompt,
                               std::span(responses).subspan(static_cast<std::size_t>(prompt) * samples, samples));
    }
  };
  std::atomic<bool> stopped = false;
  const TransformerView view = model.with_threads(lanes == 1 ? settings.threads : 1);
  run_lanes(lanes, settings.threads, [&](std::int64_t i) {
    const auto first = static_cast<std::size_t>(i * share);
    const std::size_t size = std::min(static_cast<std::size_t>(share), prompts.size() - first);
    const LaneInput input{view, prompts.subspan(first, size), static_cast<std::int64_t>(first), settings};
    const auto samples = static_cast<std::size_t>(settings.samples);
    const std::span<Response> out(responses.data() + first * samples, size * samples);
    const DecodeLane::Finished told = [&](std::span<const std::int64_t> slots) {
      count_finished(input.first_prompt, slots);
    };
    if (stopped || !lanes_[static_cast<std::size_t>(i)]->run(input, out, told)) stopped = true;
  });
  return !stopped;
}

}  // namespace rlflow
