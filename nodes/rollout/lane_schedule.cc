// Admission, preemption and the rows of a step.
#include "nodes/rollout/lane_schedule.h"

#include <algorithm>

#include "nodes/rollout/next_token.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr std::size_t kStepRows = 512;  // bounds the buffers of a step
constexpr std::size_t kLogitRows = 64;  // and those of the logits

}  // namespace

bool LaneSchedule::run(const LaneInput& input) {
  start(input);
  while (true) {
    if (input.settings.stop.stop_requested()) return false;
    admit(input);
    make_room(input);
    choose_rows(input);
    if (rows_.empty()) {
      if (waiting_.empty()) break;
      continue;  // the last response with a slot has just made room
    }
    lane_.decode(input.model, *layout_, rows_, input.threads);
    rows_read_ += static_cast<std::int64_t>(rows_.size());
    ended_.clear();
    draw(input);
    if (!ended_.empty()) input.finished(ended_);
  }
  RLFLOW_CHECK(waiting_.empty() && pool_.held() == 0, "a lane ended before its responses");
  return true;
}

void LaneSchedule::start(const LaneInput& input) {
  layout_.emplace(input.model.config);
  pool_.reset(*layout_, input.block_limit);
  prompts_.clear();
  samples_.clear();
  for (auto* set : {&live_, &waiting_, &reading_}) set->clear();
  exhausted_ = false;
  rows_read_ = preemptions_ = 0;
  scratch_.resize(static_cast<std::size_t>(input.threads));
}

void LaneSchedule::add_prompt(const LaneInput& input, const PromptWork& work) {
  const GenerationSettings& settings = input.settings;
  const std::size_t prompt = prompts_.size();
  prompts_.push_back({work.tokens, {}, samples_.size(), work.responses.size(), work.responses.size(), 0});
  for (std::int64_t response : work.responses) {
    waiting_.insert(samples_.size());
    samples_.push_back({response, prompt, response_key(settings, response), {}});
  }
}

// Gives free slots to waiting responses in order, and starts to read their prompts.
void LaneSchedule::admit(const LaneInput& input) {
  while (!exhausted_ && live_.size() + waiting_.size() < static_cast<std::size_t>(input.slots)) {
    const PromptWork* work = input.next();
    if (work) {
      add_prompt(input, *work);
    } else {
      exhausted_ = true;
    }
  }
  for (auto at = waiting_.begin(); at != waiting_.end() && live_.size() < static_cast<std::size_t>(input.slots);) {
    Sample& sample = samples_[*at];
    Prompt& prompt = prompts_[sample.prompt];
    const bool first = live_.empty() && reading_.empty();
    const auto take = [&](KvSequence& kv, std::size_t tokens) {
      while (!pool_.extend(kv, static_cast<std::int64_t>(tokens))) {
        if (!first || !reclaim_after(*at)) return false;
      }
      return true;
    };
    if (!prompt.read()) {
      if (!reading_.contains(sample.prompt)) {
        if (!take(prompt.kv, prompt.tokens.size())) break;
        reading_.insert(sample.prompt);
      }
      ++at;
      continue;
    }
    if (!take(sample.kv, response(input, *at).tokens.size())) break;
    live_.insert(*at);
    ++prompt.live;
    at = waiting_.erase(at);
  }
}

// Every response with a slot gets a block for its newest token; the latest ones make room for the earlier.
void LaneSchedule::make_room(const LaneInput& input) {
  for (auto at = live_.begin(); at != live_.end();) {
    const std::size_t sample = *at;
    const auto tokens = static_cast<std::int64_t>(response(input, sample).tokens.size());
    while (live_.contains(sample) && !pool_.extend(samples_[sample].kv, tokens)) reclaim_after(sample);
    at = live_.upper_bound(sample);
  }
}

// Takes blocks back from what was admitted last: an unused prompt, or a response, at worst `sample` itself. False where
// nothing after the prompt of `sample` holds any.
bool LaneSchedule::reclaim_after(std::size_t sample) {
  std::size_t last = prompts_.size();
  while (last > 0 && prompts_[last - 1].kv.blocks.empty()) --last;
  if (last == 0) return false;
  if (prompts_[last - 1].live > 0) {
    preempt(*live_.rbegin());
    return true;
  }
  if (last - 1 == samples_[sample].prompt) return false;
  drop_prompt(last - 1);
  return true;
}

void LaneSchedule::drop_prompt(std::size_t prompt) {
  pool_.release(prompts_[prompt].kv);
  reading_.erase(prompt);
}

void LaneSchedule::preempt(std::size_t sample) {
  pool_.release(samples_[sample].kv);
  live_.erase(sample);
  waiting_.insert(sample);
  --prompts_[samples_[sample].prompt].live;
  ++preemptions_;
}

void LaneSchedule::choose_rows(const LaneInput& input) {
  rows_.clear();
  draws_.clear();
  // Adds the unread tokens of a sequence as far as there is room; true when they all are there.
  const auto add = [&](std::span<const std::int32_t> tokens, KvSequence& kv, const KvSequence* prefix) {
    const std::int64_t before = prefix ? prefix->cached : 0;
    while (kv.cached < static_cast<std::int64_t>(tokens.size()) && rows_.size() < kStepRows) {
      rows_.push_back({tokens[static_cast<std::size_t>(kv.cached)], static_cast<std::int32_t>(before + kv.cached),
                       prefix, &kv, kv.cached});
      ++kv.cached;
    }
    return kv.cached == static_cast<std::int64_t>(tokens.size());
  };
  for (std::size_t i : live_) {
    Sample& sample = samples_[i];
    if (rows_.size() < kStepRows && add(response(input, i).tokens, sample.kv, &prompts_[sample.prompt].kv))
      draws_.push_back({static_cast<std::int64_t>(rows_.size()) - 1, i, sample.prompt});
  }
  for (auto at = reading_.begin(); at != reading_.end() && rows_.size() < kStepRows;) {
    Prompt& prompt = prompts_[*at];
    if (!add(prompt.tokens, prompt.kv, nullptr)) break;
    draws_.push_back({static_cast<std::int64_t>(rows_.size()) - 1, std::nullopt, *at});
    at = reading_.erase(at);
  }
}

// Draws what follows the rows of the step.
void LaneSchedule::draw(const LaneInput& input) {
  // A prompt that is read again has no first tokens to draw.
  std::erase_if(draws_, [&](const Draw& draw) {
    return !draw.sample && !response(input, prompts_[draw.prompt].first_sample).tokens.empty();
  });
  for (std::size_t begin = 0; begin < draws_.size(); begin += kLogitRows) {
    draw_part(input, std::span(draws_).subspan(begin, std::min(kLogitRows, draws_.size() - begin)));
  }
}

// The threads of the lane share the rows; what is told is told in order.
void LaneSchedule::draw_part(const LaneInput& input, std::span<const Draw> part) {
  std::vector<std::int64_t> rows;
  for (const Draw& draw : part) rows.push_back(draw.row);
  float* z = lane_.logits_after(input.model, rows, input.threads);
  const auto samples_of = [&](const Draw& draw) {
    const Prompt& prompt = prompts_[draw.prompt];
    return draw.sample ? std::pair(*draw.sample, *draw.sample + 1)
                       : std::pair(prompt.first_sample, prompt.first_sample + prompt.samples);
  };
  std::vector<std::vector<bool>> goes_on(part.size());
  const auto threads = std::min<std::int64_t>(input.threads, static_cast<std::int64_t>(part.size()));
  team_.run(static_cast<std::int32_t>(threads), [&](const Team::Member& member) {
    const auto count = static_cast<std::int64_t>(part.size());
    for (std::int64_t i = member.first(count); i < member.last(count); ++i) {
      const auto [first, last] = samples_of(part[static_cast<std::size_t>(i)]);
      for (std::size_t sample = first; sample < last; ++sample) {
        goes_on[static_cast<std::size_t>(i)].push_back(extend_response(
            input.settings, input.model.config, samples_[sample].key, z + i * input.model.config.vocab_size,
            scratch_[static_cast<std::size_t>(member.index)], response(input, sample)));
      }
    }
  });
  for (std::size_t i = 0; i < part.size(); ++i) {
    const auto [first, last] = samples_of(part[i]);
    for (std::size_t sample = first; sample < last; ++sample) {
      const bool ended = !goes_on[i][sample - first];
      if (input.extended) input.extended(samples_[sample].response, ended);
      if (ended) finish(sample);
    }
  }
}

void LaneSchedule::finish(std::size_t sample) {
  Prompt& prompt = prompts_[samples_[sample].prompt];
  ended_.push_back(samples_[sample].response);
  pool_.release(samples_[sample].kv);
  prompt.live -= live_.erase(sample);
  waiting_.erase(sample);
  if (--prompt.unfinished == 0) pool_.release(prompt.kv);
}

}  // namespace rlflow
