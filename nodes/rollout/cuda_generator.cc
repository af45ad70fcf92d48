// Sampling on one GPU: how much memory it takes, and a run.
#include "nodes/rollout/cuda_generator.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "nodes/cuda/device.h"

namespace rlflow {
namespace {

constexpr std::int64_t kDeviceSlots = 1024;

// Pages that all of the work could hold at once.
std::int64_t most_pages(std::span<const PromptWork> work, std::int64_t slots, std::int64_t max_new) {
  std::int64_t prompts = 0, responses = 0;
  for (const PromptWork& each : work) {
    prompts += pages_for(static_cast<std::int64_t>(each.tokens.size()));
    responses += static_cast<std::int64_t>(each.responses.size());
  }
  return prompts + std::min(slots, responses) * pages_for(max_new - 1);
}

// Nine tenths of what is free, so that the passes that follow find memory too.
std::int64_t pages_that_fit(const CudaStep& step, const CudaView& model, std::int64_t longest) {
  const std::int64_t pages = step.bytes_for_pages() / 10 * 9 / CudaStep::page_bytes(model);
  if (pages >= longest) return pages;
  throw cuda::OutOfDeviceMemory("the GPU has room for the keys and values of " +
                                std::to_string(pages * cuda::kPageTokens) +
                                " tokens beside the model; the longest prompt with max_new tokens takes " +
                                std::to_string(longest * cuda::kPageTokens) + "; lower max_new");
}

}  // namespace

bool CudaGenerator::run(const LanguageModel& model, std::span<const std::span<const std::int32_t>> prompts,
                        const GenerationSettings& settings, std::vector<Response>& responses) {
  return run(dynamic_cast<const CudaModel&>(model).view(), prompts, settings, responses);
}

bool CudaGenerator::run(const CudaView& model, std::span<const std::span<const std::int32_t>> prompts,
                        const GenerationSettings& settings, std::vector<Response>& responses) {
  const std::int64_t max_new = settings.sampling.max_new;
  check_positions(model.config, prompts, max_new);
  const std::int64_t longest = longest_sequence(prompts, max_new, cuda::kPageTokens);
  if (settings.budget) check_budget(*settings.budget, longest, cuda::kPageTokens);
  const std::int64_t total = static_cast<std::int64_t>(prompts.size()) * settings.samples;
  responses.assign(static_cast<std::size_t>(total), {});
  report_ = {};
  if (total == 0) return true;

  cuda::use_device(model.device);
  if (device_ != model.device) step_ = std::make_unique<CudaStep>();
  device_ = model.device;
  const std::vector<PromptWork> work = divide(prompts, settings.samples, total);
  const std::int64_t slots = std::min(total, settings.slots.value_or(kDeviceSlots));
  std::int64_t pages = std::min(most_pages(work, slots, max_new), pages_that_fit(*step_, model, longest));
  if (settings.budget) pages = std::min(pages, *settings.budget / cuda::kPageTokens);
  step_->start(model, settings.sampling, {slots, 2 * slots, longest, pages});

  Teller teller(settings, responses);
  CudaScheduleInput input{
      model, settings,  slots, pages,
      work,  responses, {},    [&](std::span<const std::int64_t> ended) { teller.finished(ended); }};
  if (settings.extended) input.extended = [&](std::int64_t response, bool last) { teller.extended(response, last); };
  const bool done = schedule_.run(*step_, input);
  report_.lanes = 1;
  report_.block_bytes = CudaStep::page_bytes(model);
  report_.peak_blocks = schedule_.peak_pages();
  report_.rows = schedule_.rows();
  report_.preemptions = schedule_.preemptions();
  return done;
}

std::vector<std::string> CudaGenerator::product_choices() const {
  return step_ ? step_->product_choices() : std::vector<std::string>{};
}

}  // namespace rlflow
