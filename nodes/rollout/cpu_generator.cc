// How responses are sampled: prompts are handed to lanes in order, which generate independently of each other.
#include "nodes/rollout/cpu_generator.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "nodes/model/cpu_model.h"
#include "nodes/model/lanes.h"
#include "nodes/rollout/generation_work.h"
#include "nodes/rollout/lane_schedule.h"

namespace rlflow {
namespace {

// Weights of this many floats (32 MiB) stay in the caches of a processor.
constexpr std::int64_t kCachedFloats = std::int64_t{8} << 20;
constexpr std::int64_t kLaneSlots = 64;

}  // namespace

struct CpuGenerator::Lane : LaneSchedule {};

CpuGenerator::CpuGenerator() = default;
CpuGenerator::~CpuGenerator() = default;

bool CpuGenerator::run(const LanguageModel& model, std::span<const std::span<const std::int32_t>> prompts,
                       const GenerationSettings& settings, std::vector<Response>& responses) {
  return run(dynamic_cast<const CpuModel&>(model).view(), prompts, settings, responses);
}

bool CpuGenerator::run(const TransformerView& model, std::span<const std::span<const std::int32_t>> prompts,
                       const GenerationSettings& settings, std::vector<Response>& responses) {
  check_positions(model.config, prompts, settings.sampling.max_new);
  const std::int64_t longest = longest_sequence(prompts, settings.sampling.max_new, kBlockTokens);
  std::int64_t blocks = std::numeric_limits<std::int64_t>::max();
  if (settings.budget) {
    check_budget(*settings.budget, longest, kBlockTokens);
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
                  std::clamp<std::int64_t>(share, 1, settings.slots.value_or(kLaneSlots) * team),
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
