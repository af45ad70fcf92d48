// Admission, preemption and the rounds of a generation on a GPU.
#include "nodes/rollout/cuda_schedule.h"

#include <algorithm>

#include "nodes/rollout/next_token.h"
#include "runtime/contract/check.h"

namespace rlflow {

bool CudaSchedule::run(CudaStep& step, const CudaScheduleInput& input) {
  start(input);
  while (true) {
    if (input.settings.stop.stop_requested()) return false;
    ended_.clear();
    admit(step, input);
    read(step, input);
    if (!live_.empty()) {
      const std::int64_t steps = make_room(input);
      if (steps > 0) decode(step, input, steps);
    }
    if (!ended_.empty()) input.finished(ended_);
    if (live_.empty() && waiting_.empty() && next_work_ == input.work.size()) break;
  }
  RLFLOW_CHECK(pool_.held() == 0, "a generation ended before its responses");
  return true;
}

void CudaSchedule::start(const CudaScheduleInput& input) {
  pool_.reset(input.pages);
  prompts_.clear();
  samples_.clear();
  for (auto* set : {&live_, &waiting_, &reading_}) set->clear();
  tables_.clear();
  for (std::int64_t table = 2 * input.slots; table-- > 0;) tables_.push_back(table);
  next_work_ = 0;
  rows_read_ = preemptions_ = 0;
}

void CudaSchedule::add_prompt(const CudaScheduleInput& input, const PromptWork& work) {
  const std::size_t prompt = prompts_.size();
  prompts_.push_back({work.tokens, {}, samples_.size(), work.responses.size(), work.responses.size()});
  for (std::int64_t response : work.responses) {
    waiting_.insert(samples_.size());
    samples_.push_back({response, prompt, response_key(input.settings, response), {}});
  }
}

// Room for `tokens` in kv; what was admitted after `sample` makes it where it must.
bool CudaSchedule::take(PagedSequence& kv, std::int64_t tokens, std::size_t sample, bool must) {
  while (!pool_.extend(kv, tokens)) {
    if (!must || !reclaim_after(sample)) return false;
  }
  return true;
}

// Gives free slots to waiting responses in order, and chooses the prompts that must be read for others.
void CudaSchedule::admit(CudaStep& step, const CudaScheduleInput& input) {
  const auto slots = static_cast<std::size_t>(input.slots);
  while (next_work_ < input.work.size() && live_.size() + waiting_.size() < slots) {
    add_prompt(input, input.work[next_work_++]);
  }
  for (auto at = waiting_.begin(); at != waiting_.end() && live_.size() < slots;) {
    Sample& sample = samples_[*at];
    Prompt& prompt = prompts_[sample.prompt];
    const bool must = live_.empty() && reading_.empty();
    if (!prompt.read()) {
      if (!reading_.contains(sample.prompt)) {
        if (reading_.size() == slots || !take(prompt.kv, static_cast<std::int64_t>(prompt.tokens.size()), *at, must))
          break;
        reading_.insert(sample.prompt);
      }
      ++at;
      continue;
    }
    if (!take(sample.kv, tokens_of(input, *at), *at, must)) break;
    sample.table = tables_.back();
    tables_.pop_back();
    sample.told = 0;
    for (std::size_t i = 0; i < prompt.kv.pages.size(); ++i) {
      step.set_page(sample.table, static_cast<std::int64_t>(i), prompt.kv.pages[i]);
    }
    live_.insert(*at);
    ++prompt.live;
    at = waiting_.erase(at);
  }
}

// Every response with a slot gets pages for its next steps, as many steps as there is room for; where there is room for
// none the latest ones give theirs back. Returns the steps.
std::int64_t CudaSchedule::make_room(const CudaScheduleInput& input) {
  const std::int64_t max_new = input.settings.sampling.max_new;
  // The last token of a response is never read.
  const auto cached_after = [&](std::size_t sample, std::int64_t steps) {
    return std::min(tokens_of(input, sample) + steps, max_new) - 1;
  };
  std::int64_t left = 1;  // tokens of the response that can go on longest
  for (std::size_t sample : live_) left = std::max(left, max_new - tokens_of(input, sample));
  for (std::int64_t steps : {std::min(left, kMostSteps), std::int64_t{1}}) {
    std::int64_t missing = 0;
    for (std::size_t sample : live_) missing += PagePool::missing_for(samples_[sample].kv, cached_after(sample, steps));
    if (missing > pool_.available()) continue;
    for (std::size_t sample : live_) (void)pool_.extend(samples_[sample].kv, cached_after(sample, steps));
    return steps;
  }
  for (auto at = live_.begin(); at != live_.end();) {
    const std::size_t sample = *at;
    while (live_.contains(sample) && !pool_.extend(samples_[sample].kv, cached_after(sample, 1))) reclaim_after(sample);
    at = live_.upper_bound(sample);
  }
  return live_.empty() ? 0 : 1;
}

// Takes pages back from what was admitted last: an unused prompt, or a response, at worst `sample` itself. False where
// nothing after the prompt of `sample` holds any.
bool CudaSchedule::reclaim_after(std::size_t sample) {
  std::size_t last = prompts_.size();
  while (last > 0 && prompts_[last - 1].kv.pages.empty()) --last;
  if (last == 0) return false;
  if (prompts_[last - 1].live > 0) {
    preempt(*live_.rbegin());
    return true;
  }
  if (last - 1 == samples_[sample].prompt) return false;
  drop_prompt(last - 1);
  return true;
}

void CudaSchedule::drop_prompt(std::size_t prompt) {
  pool_.release(prompts_[prompt].kv);
  reading_.erase(prompt);
}

void CudaSchedule::preempt(std::size_t sample) {
  pool_.release(samples_[sample].kv);
  tables_.push_back(samples_[sample].table);
  live_.erase(sample);
  waiting_.insert(sample);
  --prompts_[samples_[sample].prompt].live;
  ++preemptions_;
}

// Pages of a response that the device does not know yet; they follow those of the prompt.
void CudaSchedule::tell_pages(CudaStep& step, Sample& sample) {
  const auto before = static_cast<std::int64_t>(prompts_[sample.prompt].kv.pages.size());
  for (; sample.told < static_cast<std::int64_t>(sample.kv.pages.size()); ++sample.told) {
    step.set_page(sample.table, before + sample.told, sample.kv.pages[static_cast<std::size_t>(sample.told)]);
  }
}

// Reads what responses that have given their pages back had read before, and new prompts.
void CudaSchedule::read(CudaStep& step, const CudaScheduleInput& input) {
  const auto add = [&](std::span<const std::int32_t> tokens, PagedSequence& kv, std::int64_t prefix,
                       std::int64_t table) {
    while (kv.cached < static_cast<std::int64_t>(tokens.size())) {
      if (static_cast<std::int64_t>(rows_.size()) == kReadRows) draw_first(step, input);
      rows_.push_back({tokens[static_cast<std::size_t>(kv.cached)], static_cast<std::int32_t>(kv.cached),
                       static_cast<std::int32_t>(prefix), static_cast<std::int32_t>(table)});
      ++kv.cached;
    }
  };
  for (std::size_t i : live_) {
    Sample& sample = samples_[i];
    const std::span tokens = std::span<const std::int32_t>(response(input, i).tokens);
    tell_pages(step, sample);
    add(tokens.first(tokens.size() - 1), sample.kv, static_cast<std::int64_t>(prompts_[sample.prompt].tokens.size()),
        sample.table);
  }
  std::vector<std::int64_t> used;
  for (std::size_t i : reading_) {
    Prompt& prompt = prompts_[i];
    prompt.table = tables_.back();
    tables_.pop_back();
    used.push_back(prompt.table);
    for (std::size_t page = 0; page < prompt.kv.pages.size(); ++page) {
      step.set_page(prompt.table, static_cast<std::int64_t>(page), prompt.kv.pages[page]);
    }
    add(prompt.tokens, prompt.kv, 0, prompt.table);
    // A prompt that is read again has no first tokens to draw.
    if (!response(input, prompt.first_sample).tokens.empty()) continue;
    const auto at = static_cast<std::int32_t>(last_.size());
    last_.push_back(static_cast<std::int32_t>(rows_.size()) - 1);
    for (std::size_t sample = prompt.first_sample; sample < prompt.first_sample + prompt.samples; ++sample) {
      draws_.push_back({at, 0, samples_[sample].key});
      drawing_.push_back(sample);
    }
  }
  draw_first(step, input);
  reading_.clear();
  tables_.insert(tables_.end(), used.rbegin(), used.rend());
}

// Runs the pass over rows_.
void CudaSchedule::draw_first(CudaStep& step, const CudaScheduleInput& input) {
  if (rows_.empty()) return;
  const std::span<const cuda::Drawn> drawn = step.read(input.model, rows_, last_, draws_);
  rows_read_ += static_cast<std::int64_t>(rows_.size());
  for (std::size_t i = 0; i < drawing_.size(); ++i) {
    if (!extend(input, drawing_[i], drawn[i])) finish(drawing_[i]);
  }
  rows_.clear();
  last_.clear();
  draws_.clear();
  drawing_.clear();
}

void CudaSchedule::decode(CudaStep& step, const CudaScheduleInput& input, std::int64_t steps) {
  std::vector<cuda::StepRow> rows;
  std::vector<cuda::Draw> draws;
  const std::vector<std::size_t> decoding(live_.begin(), live_.end());
  for (std::size_t i : decoding) {
    Sample& sample = samples_[i];
    const Response& so_far = response(input, i);
    tell_pages(step, sample);
    const auto count = static_cast<std::int32_t>(so_far.tokens.size());
    rows.push_back({so_far.tokens.back(), count - 1, static_cast<std::int32_t>(prompts_[sample.prompt].tokens.size()),
                    static_cast<std::int32_t>(sample.table)});
    draws.push_back({0, count, sample.key});
  }
  const std::vector<DecodedRow> decoded = step.decode(input.model, rows, draws, steps);
  for (std::int32_t number = 0; number < steps; ++number) {
    for (std::size_t i = 0; i < decoding.size(); ++i) {
      if (number >= decoded[i].count || !live_.contains(decoding[i])) continue;
      ++rows_read_;
      ++samples_[decoding[i]].kv.cached;
      if (!extend(input, decoding[i], decoded[i].drawn[static_cast<std::size_t>(number)])) finish(decoding[i]);
    }
  }
}

bool CudaSchedule::extend(const CudaScheduleInput& input, std::size_t sample, const cuda::Drawn& drawn) {
  Response& to = response(input, sample);
  to.tokens.push_back(drawn.token);
  to.logprob.push_back(drawn.logprob);
  const bool going = goes_on(input.settings, input.model.config, to);
  if (input.extended) input.extended(samples_[sample].response, !going);
  return going;
}

void CudaSchedule::finish(std::size_t sample) {
  Prompt& prompt = prompts_[samples_[sample].prompt];
  ended_.push_back(samples_[sample].response);
  pool_.release(samples_[sample].kv);
  if (live_.erase(sample) > 0) {
    tables_.push_back(samples_[sample].table);
    --prompt.live;
  }
  waiting_.erase(sample);
  if (--prompt.unfinished == 0) pool_.release(prompt.kv);
}

}  // namespace rlflow
