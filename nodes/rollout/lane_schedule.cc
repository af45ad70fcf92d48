// Admission, preemption and the rows of a step.
#include "nodes/rollout/lane_schedule.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "nodes/rollout/next_token.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr std::size_t kStepRows = 512;  // bounds the buffers of a step
constexpr std::size_t kLogitRows = 64;  // and those of the logits
// Tokens that two prompts have in common and that are worth a step in which the second one waits for the first.
constexpr std::int64_t kWorthWaiting = 8;

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
  branches_.clear();
  live_ = 0;
  for (auto* set : {&waiting_, &reading_}) set->clear();
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
    samples_.push_back({response, prompt, response_key(settings, response)});
  }
}

// Gives free slots to waiting responses in order, and starts to read their prompts.
void LaneSchedule::admit(const LaneInput& input) {
  while (!exhausted_ && live_ + waiting_.size() < static_cast<std::size_t>(input.slots)) {
    const PromptWork* work = input.next();
    if (work) {
      add_prompt(input, *work);
    } else {
      exhausted_ = true;
    }
  }
  for (auto at = waiting_.begin(); at != waiting_.end() && live_ < static_cast<std::size_t>(input.slots);) {
    const std::size_t sample = *at;
    Prompt& prompt = prompts_[samples_[sample].prompt];
    const bool first = branches_.empty() && reading_.empty();
    const auto take = [&](KvSequence& kv, std::size_t tokens) {
      while (!pool_.extend(kv, static_cast<std::int64_t>(tokens))) {
        if (!first || !reclaim_after(sample)) return false;
      }
      return true;
    };
    if (!prompt.read()) {
      if (!reading_.contains(samples_[sample].prompt)) {
        if (!take(prompt.kv, prompt.tokens.size())) break;
        reading_.insert(samples_[sample].prompt);
      }
      ++at;
      continue;
    }
    if (!join(input, sample)) {
      Branch branch{samples_[sample].prompt, {sample}, {}};
      if (!take(branch.kv, tokens_of(input, sample).size())) break;
      branches_.emplace(sample, std::move(branch));
      ++prompt.branches;
    }
    ++live_;
    at = waiting_.erase(at);
  }
}

// Makes `sample` one of the branch that has its tokens, if there is one.
bool LaneSchedule::join(const LaneInput& input, std::size_t sample) {
  const Prompt& prompt = prompts_[samples_[sample].prompt];
  for (auto at = branches_.lower_bound(prompt.first_sample);
       at != branches_.end() && at->second.prompt == samples_[sample].prompt; ++at) {
    if (tokens_of(input, at->first) != tokens_of(input, sample)) continue;
    std::vector<std::size_t>& samples = at->second.samples;
    samples.insert(std::upper_bound(samples.begin(), samples.end(), sample), sample);
    if (samples.front() == sample) {
      auto node = branches_.extract(at);
      node.key() = sample;
      branches_.insert(std::move(node));
    }
    return true;
  }
  return false;
}

// Every branch gets a block for its newest token; the latest ones make room for the earlier.
void LaneSchedule::make_room(const LaneInput& input) {
  for (auto at = branches_.begin(); at != branches_.end();) {
    const std::size_t first = at->first;
    const auto tokens = static_cast<std::int64_t>(tokens_of(input, first).size());
    while (branches_.contains(first) && !pool_.extend(branches_.at(first).kv, tokens)) reclaim_after(first);
    at = branches_.upper_bound(first);
  }
}

// Takes blocks back from what was admitted last: an unused prompt, or a branch, at worst that of `sample`. False where
// nothing after the prompt of `sample` holds any.
bool LaneSchedule::reclaim_after(std::size_t sample) {
  std::size_t last = prompts_.size();
  while (last > 0 && prompts_[last - 1].kv.blocks.empty()) --last;
  if (last == 0) return false;
  if (prompts_[last - 1].branches > 0) {
    preempt(std::prev(branches_.end()));
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

void LaneSchedule::preempt(Branches::iterator at) {
  Branch& branch = at->second;
  pool_.release(branch.kv);
  waiting_.insert(branch.samples.begin(), branch.samples.end());
  live_ -= branch.samples.size();
  preemptions_ += static_cast<std::int64_t>(branch.samples.size());
  --prompts_[branch.prompt].branches;
  branches_.erase(at);
}

// Copies the keys and values of what a prompt has in common with one that was read before. False: more of it will have
// been read after this step.
bool LaneSchedule::begin_reading(std::size_t prompt) {
  Prompt& own = prompts_[prompt];
  if (own.kv.cached > 0) return true;
  std::int64_t read = 0, being_read = 0;  // tokens in common, at best
  const Prompt* source = nullptr;
  for (std::size_t i = 0; i < prompt; ++i) {
    const Prompt& other = prompts_[i];
    if (other.kv.cached == 0) continue;
    const auto most = std::min(own.tokens.size() - 1, other.tokens.size());  // the last one is read for its logits
    const auto end = own.tokens.begin() + static_cast<std::ptrdiff_t>(most);
    const std::int64_t common = std::mismatch(own.tokens.begin(), end, other.tokens.begin()).first - own.tokens.begin();
    const bool in_step = reading_.contains(i) || std::any_of(draws_.begin(), draws_.end(), [&](const Draw& draw) {
                           return !draw.branch && draw.prompt == i;
                         });
    if (in_step) {
      being_read = std::max(being_read, common);
    } else if (common > read) {
      read = common;
      source = &other;
    }
  }
  if (being_read >= read + kWorthWaiting) return false;
  if (source) pool_.copy(source->kv, read, own.kv);
  return true;
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
  for (auto& [first, branch] : branches_) {
    if (rows_.size() < kStepRows && add(tokens_of(input, first), branch.kv, &prompts_[branch.prompt].kv))
      draws_.push_back({static_cast<std::int64_t>(rows_.size()) - 1, branch.prompt, branch.samples, first});
  }
  for (auto at = reading_.begin(); at != reading_.end() && rows_.size() < kStepRows;) {
    Prompt& prompt = prompts_[*at];
    if (!begin_reading(*at)) {
      ++at;
      continue;
    }
    if (!add(prompt.tokens, prompt.kv, nullptr)) break;
    std::vector<std::size_t> samples(prompt.samples);
    std::iota(samples.begin(), samples.end(), prompt.first_sample);
    draws_.push_back({static_cast<std::int64_t>(rows_.size()) - 1, *at, std::move(samples), std::nullopt});
    at = reading_.erase(at);
  }
}

// Draws what follows the rows of the step.
void LaneSchedule::draw(const LaneInput& input) {
  // A prompt that is read again has no first tokens to draw.
  std::erase_if(draws_,
                [&](const Draw& draw) { return !draw.branch && !tokens_of(input, draw.samples.front()).empty(); });
  for (std::size_t begin = 0; begin < draws_.size(); begin += kLogitRows) {
    draw_part(input, std::span(draws_).subspan(begin, std::min(kLogitRows, draws_.size() - begin)));
  }
}

// The threads of the lane share the rows; what is told is told in order.
void LaneSchedule::draw_part(const LaneInput& input, std::span<const Draw> part) {
  std::vector<std::int64_t> rows;
  for (const Draw& draw : part) rows.push_back(draw.row);
  float* z = lane_.logits_after(input.model, rows, input.threads);
  std::vector<std::vector<std::size_t>> going_on(part.size());
  const auto threads = std::min<std::int64_t>(input.threads, static_cast<std::int64_t>(part.size()));
  team_.run(static_cast<std::int32_t>(threads), [&](const Team::Member& member) {
    const auto count = static_cast<std::int64_t>(part.size());
    for (std::int64_t i = member.first(count); i < member.last(count); ++i) {
      NextToken next(input.settings, input.model.config, z + i * input.model.config.vocab_size,
                     scratch_[static_cast<std::size_t>(member.index)]);
      for (std::size_t sample : part[static_cast<std::size_t>(i)].samples) {
        Response& response = input.responses[static_cast<std::size_t>(samples_[sample].response)];
        if (next.extend(samples_[sample].key, response)) going_on[static_cast<std::size_t>(i)].push_back(sample);
      }
    }
  });
  for (std::size_t i = 0; i < part.size(); ++i) {
    auto next = going_on[i].begin();
    for (std::size_t sample : part[i].samples) {
      const bool ended = next == going_on[i].end() || *next != sample;
      if (!ended) ++next;
      if (input.extended) input.extended(samples_[sample].response, ended);
      if (ended) finish(sample);
    }
    if (part[i].branch) part_ways(input, *part[i].branch, going_on[i]);
  }
}

void LaneSchedule::finish(std::size_t sample) {
  Prompt& prompt = prompts_[samples_[sample].prompt];
  ended_.push_back(samples_[sample].response);
  waiting_.erase(sample);
  if (--prompt.unfinished == 0) pool_.release(prompt.kv);
}

// A branch goes on with those of its samples that do. Those that drew another token than the first of them make
// branches of their own, with a copy of its keys and values where there is room for one: else they are read again.
void LaneSchedule::part_ways(const LaneInput& input, std::size_t branch, const std::vector<std::size_t>& going_on) {
  auto node = branches_.extract(branch);
  Branch& whole = node.mapped();
  live_ -= whole.samples.size() - going_on.size();
  --prompts_[whole.prompt].branches;
  std::vector<Branch> parts;
  for (std::size_t sample : going_on) {
    const std::int32_t token = tokens_of(input, sample).back();
    auto part = std::find_if(parts.begin(), parts.end(), [&](const Branch& other) {
      return tokens_of(input, other.samples.front()).back() == token;
    });
    if (part == parts.end()) part = parts.insert(parts.end(), {whole.prompt, {}, {}});
    part->samples.push_back(sample);
  }
  prompts_[whole.prompt].branches += parts.size();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (pool_.extend(parts[i].kv, whole.kv.cached)) pool_.copy(whole.kv, whole.kv.cached, parts[i].kv);
  }
  if (parts.empty()) return pool_.release(whole.kv);
  std::swap(parts[0].kv, whole.kv);
  for (Branch& part : parts) {
    const std::size_t first = part.samples.front();
    branches_.emplace(first, std::move(part));
  }
}

}  // namespace rlflow
