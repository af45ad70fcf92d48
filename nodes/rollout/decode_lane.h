// The arithmetic of one lane: tokens of several sequences through the transformer, keys and values into their blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nodes/model/lanes.h"
#include "nodes/model/transformer.h"
#include "nodes/rollout/kv_blocks.h"

namespace rlflow {

// One token to read. It sees all of `prefix`, where there is one, and what stands in `own` up to itself.
struct StepRow {
  std::int32_t token;
  std::int32_t position;     // in the whole sequence
  const KvSequence* prefix;  // the prompt of a response, read; null for a prompt
  const KvSequence* own;     // has a block for it
  std::int64_t at;           // in `own`
};

// Buffers grow and are used again. One caller at a time; `threads` of them share the columns of each product, which
// changes no bit.
class DecodeLane {
 public:
  // Reads the rows: those of one sequence in ascending order. The bits of a row depend on its sequence alone.
  void decode(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows,
              std::int32_t threads);
  // logits f32[rows, vocabulary] after some rows of the latest decode, until the next call.
  float* logits_after(const TransformerView& model, std::span<const std::int64_t> rows, std::int32_t threads);

 private:
  void embed(const TransformerView& model, std::span<const StepRow> rows);
  // What one thread of the team does; `model` is its member's view.
  void decode_part(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows);
  void attend(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows, std::int64_t layer);

  std::vector<std::int32_t> positions_, tokens_;
  Team team_;
  std::vector<float> hidden_, normed_, projections_, attended_, branch_, gate_up_, wide_;
  std::vector<std::vector<float>> scores_;  // of each thread
  std::vector<float> last_, last_normed_, logits_;
};

}  // namespace rlflow
