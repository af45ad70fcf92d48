// Which sequences of a lane are read at each step, and whose keys and values are held.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "nodes/rollout/decode_lane.h"
#include "nodes/rollout/generate.h"
#include "nodes/rollout/generation_work.h"
#include "nodes/rollout/kv_blocks.h"

namespace rlflow {

struct LaneInput {
  const TransformerView& model;
  const GenerationSettings& settings;
  std::int32_t threads;  // of this lane
  std::int64_t slots;
  std::int64_t block_limit;                          // no less than the longest sequence needs
  std::span<Response> responses;                     // all of them; a lane writes its own
  std::function<const PromptWork*()> next;           // the next prompt in order, null when there is none
  std::function<void(std::int64_t, bool)> extended;  // a response has one more token, its last or not; may be empty
  std::function<void(std::span<const std::int64_t>)> finished;  // these ended in one step
};

// Continuous batching. A step reads one token of every response that has a slot and, as far as there is room, prompts
// in pieces. A response that ends leaves its slot to the next one in order. When blocks run short the latest response
// gives its own back and waits; it is read again from the prompt on, with the same bits. The first unfinished response
// is never asked to, and fits alone, so the lane always gets on. One thread at a time.
class LaneSchedule {
 public:
  bool run(const LaneInput& input);  // false when stopped

  std::int64_t peak_blocks() const { return pool_.peak(); }
  std::int64_t rows() const { return rows_read_; }
  std::int64_t preemptions() const { return preemptions_; }

 private:
  struct Prompt {
    std::span<const std::int32_t> tokens;
    KvSequence kv;
    std::size_t first_sample = 0, samples = 0, unfinished = 0, live = 0;
    bool read() const { return kv.cached == static_cast<std::int64_t>(tokens.size()); }
  };
  struct Sample {
    std::int64_t response = 0;
    std::size_t prompt = 0;
    std::uint64_t key = 0;
    KvSequence kv;
  };
  // After this row of the step stand the logits of a sample's next token, or of the first tokens of a prompt's.
  struct Draw {
    std::int64_t row;
    std::optional<std::size_t> sample;
    std::size_t prompt;
  };

  void start(const LaneInput& input);
  void add_prompt(const LaneInput& input, const PromptWork& work);
  void admit(const LaneInput& input);
  void make_room(const LaneInput& input);
  bool reclaim_after(std::size_t sample);
  void drop_prompt(std::size_t prompt);
  void preempt(std::size_t sample);
  void choose_rows(const LaneInput& input);
  void draw(const LaneInput& input);
  void draw_part(const LaneInput& input, std::span<const Draw> part);
  void finish(std::size_t sample);
  Response& response(const LaneInput& input, std::size_t sample) const {
    return input.responses[static_cast<std::size_t>(samples_[sample].response)];
  }

  DecodeLane lane_;
  KvBlockPool pool_;
  std::optional<KvLayout> layout_;
  std::vector<Prompt> prompts_;  // in order of admission, as are samples_
  std::vector<Sample> samples_;
  std::set<std::size_t> live_, waiting_, reading_;  // samples with a slot, without one; prompts being read
  bool exhausted_ = false;                          // no more prompts
  std::vector<StepRow> rows_;
  std::vector<Draw> draws_;
  std::vector<std::int64_t> ended_;  // responses, in this step
  Team team_;
  std::vector<std::vector<float>> scratch_;  // of each thread
  std::int64_t rows_read_ = 0, preemptions_ = 0;
};

}  // namespace rlflow
