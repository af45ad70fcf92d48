// Which sequences are read and decoded at each round on a GPU, and whose keys and values are held.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "nodes/rollout/cuda_step.h"
#include "nodes/rollout/generation_work.h"
#include "nodes/rollout/page_pool.h"

namespace rlflow {

struct CudaScheduleInput {
  const CudaView& model;
  const GenerationSettings& settings;
  std::int64_t slots;
  std::int64_t pages;  // no fewer than the longest sequence needs
  std::span<const PromptWork> work;
  std::span<Response> responses;
  std::function<void(std::int64_t, bool)> extended;             // as LaneInput has it
  std::function<void(std::span<const std::int64_t>)> finished;  // these ended in one round
};

// Continuous batching. A round gives free slots to waiting responses, reads what prompts they need, and decodes all
// that have a slot for a few steps; the host sees their tokens after that. A response that ends leaves its slot to the
// next one in order. When pages run short the latest response gives its own back and waits; it is read again from the
// prompt on. The first unfinished response is never asked to, and fits alone, so there is always progress. What a round
// does depends on lengths and the order of the work alone. One caller at a time.
class CudaSchedule {
 public:
  bool run(CudaStep& step, const CudaScheduleInput& input);  // false when stopped

  std::int64_t peak_pages() const { return pool_.peak(); }
  std::int64_t rows() const { return rows_read_; }
  std::int64_t preemptions() const { return preemptions_; }

 private:
  struct Prompt {
    std::span<const std::int32_t> tokens;
    PagedSequence kv;
    std::size_t first_sample = 0, samples = 0, unfinished = 0, live = 0;
    std::int64_t table = -1;  // while it is read
    bool read() const { return kv.cached == static_cast<std::int64_t>(tokens.size()); }
  };
  struct Sample {
    std::int64_t response = 0;
    std::size_t prompt = 0;
    std::uint64_t key = 0;
    PagedSequence kv;
    std::int64_t table = -1;  // while it has a slot
    std::int64_t told = 0;    // of its pages, to the device
  };

  void start(const CudaScheduleInput& input);
  void add_prompt(const CudaScheduleInput& input, const PromptWork& work);
  void admit(CudaStep& step, const CudaScheduleInput& input);
  bool take(PagedSequence& kv, std::int64_t tokens, std::size_t sample, bool must);
  std::int64_t make_room(const CudaScheduleInput& input);
  bool reclaim_after(std::size_t sample);
  void drop_prompt(std::size_t prompt);
  void preempt(std::size_t sample);
  void tell_pages(CudaStep& step, Sample& sample);
  void read(CudaStep& step, const CudaScheduleInput& input);
  void draw_first(CudaStep& step, const CudaScheduleInput& input);
  void decode(CudaStep& step, const CudaScheduleInput& input, std::int64_t steps);
  // Appends what was drawn; false when the response ends with it.
  bool extend(const CudaScheduleInput& input, std::size_t sample, const cuda::Drawn& drawn);
  void finish(std::size_t sample);
  Response& response(const CudaScheduleInput& input, std::size_t sample) const {
    return input.responses[static_cast<std::size_t>(samples_[sample].response)];
  }
  std::int64_t tokens_of(const CudaScheduleInput& input, std::size_t sample) const {
    return static_cast<std::int64_t>(response(input, sample).tokens.size());
  }

  PagePool pool_;
  std::vector<std::int64_t> tables_;  // free ones
  std::vector<Prompt> prompts_;       // in order of admission, as are samples_
  std::vector<Sample> samples_;
  std::set<std::size_t> live_, waiting_, reading_;  // samples with a slot, without one; prompts being read
  std::size_t next_work_ = 0;
  // Of a pass over prompts: rows, those whose logits are wanted, and whose first tokens these are.
  std::vector<cuda::StepRow> rows_;
  std::vector<std::int32_t> last_;
  std::vector<cuda::Draw> draws_;
  std::vector<std::size_t> drawing_;  // samples
  std::vector<std::int64_t> ended_;   // responses, in this round
  std::int64_t rows_read_ = 0, preemptions_ = 0;
};

}  // namespace rlflow
