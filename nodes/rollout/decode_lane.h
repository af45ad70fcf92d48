// The decoding of one lane: some prompts and all of their samples, on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nodes/model/transformer.h"
#include "nodes/rollout/generate.h"
#include "nodes/rollout/kv_cache.h"

namespace rlflow {

struct LaneInput {
  const TransformerView& model;
  std::span<const std::span<const std::int32_t>> prompts;
  std::int64_t first_prompt;  // index of prompts[0] in the whole batch: its admission slot
  const GenerationSettings& settings;
};

class DecodeLane {
 public:
  // Fills `responses` (samples of prompt 0, then of prompt 1, …); `finished` hears after each step which of them ended
  // in it. Returns false when stopped.
  using Finished = std::function<void(std::span<const std::int64_t> slots)>;
  bool run(const LaneInput& input, std::span<Response> responses, const Finished& finished);

 private:
  // A response still being generated.
  struct Live {
    std::int64_t slot;    // index into `responses`
    std::int64_t prompt;  // index into input.prompts
    std::uint64_t key;
    std::int32_t token;  // the newest
  };

  void prefill(const LaneInput& input);
  void embed(const LaneInput& input, std::int64_t length);
  void decode(const LaneInput& input, std::int64_t length);
  void attend(const LaneInput& input, std::int64_t layer, std::int64_t length);
  // Draws the next token of live response `i` from `z`; false when it is finished.
  bool extend(const LaneInput& input, std::size_t i, const float* z, std::span<Response> responses);

  KvCache cache_;
  Activations prefill_;
  PackedRows rows_;
  std::vector<Live> live_;
  std::vector<std::int64_t> ended_;
  std::vector<std::int32_t> positions_, tokens_;
  std::vector<float> hidden_, normed_, scales_, projections_, attended_, branch_, gate_up_, wide_, logits_, scores_;
};

}  // namespace rlflow
