// How responses are sampled: prompts are handed to lanes in order, which generate independently of each other.
#include "nodes/rollout/cpu_generator.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "nodes/model/cpu_model.h"
#include "nodes/model/lanes.h"
#include "nodes/rollout/lane_schedule.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// Weights of this many floats (32 MiB) stay in the caches of a processor.
constexpr std::int64_t kCachedFloats = std::int64_t{8} << 20;

using Prompts = std::span<const std::span<const std::int32_t>>;

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

// Blocks of the longest sequence there can be. The last token of a response is never read.
std::int64_t longest_sequence(Prompts prompts, std::int64_t max_new) {
  std::int64_t longest = 0;
  for (const auto& prompt : prompts) longest = std::max(longest, blocks_for(static_cast<std::int64_t>(prompt.size())));
  return longest + blocks_for(max_new - 1);
}

void check_budget(std::int64_t budget, std::int64_t longest) {
  if (budget / kBlockTokens >= longest) return;
  throw std::runtime_error("a budget of " + std::to_string(budget) +
                           " tokens does not hold the longest prompt with max_new tokens, which takes " +
                           std::to_string(longest * kBlockTokens) + "; raise `budget` or lower max_new");
}

// Equal prompts are read once: their responses are the work of the first of them. Work of more than `most` responses
// is divided.
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

// What is told of a run while it goes on, one call at a time.
class Teller {
 public:
  Teller(const GenerationSettings& settings, std::span<const Response> responses)
      : settings_(settings),
        responses_(responses),
        unfinished_(responses.size() / static_cast<std::size_t>(settings.samples), settings.samples) {}

  void extended(std::int64_t response, bool finished) {
    const std::lock_guard lock(mutex_);
    settings_.extended(response, responses_[static_cast<std::size_t>(response)], finished);
  }

  void finished(std::span<const std::int64_t> responses) {
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

 private:
  const GenerationSettings& settings_;
  std::span<const Response> responses_;
  std::mutex mutex_;  // guards what follows, and the calls
  std::int64_t finished_ = 0;
  std::vector<std::int64_t> unfinished_;  // of each prompt
};

}  // namespace

struct CpuGenerator::Lane : LaneSchedule {};

CpuGenerator::CpuGenerator() = default;
CpuGenerator::~CpuGenerator() = default;

bool CpuGenerator::run(const LanguageModel& model, std::span<const std::span<const std::int32_t>> prompts,
                       const GenerationSettings& settings, std::vector<Response>& responses) {
  return run(static_cast<const CpuModel&>(model).view(), prompts, settings, responses);
}

bool CpuGenerator::run(const TransformerView& model, std::span<const std::span<const std::int32_t>> prompts,
                       const GenerationSettings& settings, std::vector<Response>& responses) {
  check_positions(model.config, prompts, settings.sampling.max_new);
  const std::int64_t longest = longest_sequence(prompts, settings.sampling.max_new);
  std::int64_t blocks = std::numeric_limits<std::int64_t>::max();
  if (settings.budget) {
    check_budget(*settings.budget, longest);
    blocks = *settings.budget / kBlockTokens;
  }
  const std::int64_t total = static_cast<std::int64_t>(prompts.size()) * settings.samples;
  responses.assign(static_cast<std::size_t>(total), {});
  report_ = {};
  if (total == 0) return true;
  // Each lane can hold the longest sequence. Weights that no cache holds are read once a step by threads that work
  // together, small ones by a lane of each thread, which then need not wait for each other.
  const std::int64_t held = std::max<std::int64_t>(1, blocks / std::max<std::int64_t>(1, longest));
  const bool together = total < settings.threads || model.layout.size > kCachedFloats;
  const std::int64_t lanes = together ? 1 : std::min<std::int64_t>(settings.threads, held);
  const std::int32_t team = together ? settings.threads : 1;
  const std::int64_t share = (total + lanes - 1) / lanes;
  const std::vector<PromptWork> work = divide(prompts, settings.samples, lanes > 1 ? share : total);
  while (static_cast<std::int64_t>(lanes_.size()) < lanes) lanes_.push_back(std::make_unique<Lane>());

  Teller teller(settings, responses);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  LaneInput input{model,
                  settings,
                  team,
                  std::clamp<std::int64_t>(share, 1, settings.slots * team),
                  blocks / lanes,
                  responses,
                  [&]() -> const PromptWork* {
                    const std::size_t i = next++;
                    return i < work.size() ? &work[i] : nullptr;
                  },
                  {},
                  [&](std::span<const std::int64_t> ended) { teller.finished(ended); }};
  if (settings.extended) input.extended = [&](std::int64_t response, bool last) { teller.extended(response, last); };
  const auto run_lane = [&](std::int64_t i) {
    if (!lanes_[static_cast<std::size_t>(i)]->run(input)) stopped = true;
  };
  if (lanes == 1) {
    run_lane(0);  // whose threads are its own
  } else {
    run_lanes(lanes, settings.threads, run_lane);
  }
  report_.lanes = lanes;
  report_.block_bytes = KvLayout(model.config).block_floats * static_cast<std::int64_t>(sizeof(float));
  for (std::int64_t i = 0; i < lanes; ++i) {
    const Lane& lane = *lanes_[static_cast<std::size_t>(i)];
    report_.peak_blocks += lane.peak_blocks();
    report_.rows += lane.rows();
    report_.preemptions += lane.preemptions();
  }
  return !stopped;
}

}  // namespace rlflow
