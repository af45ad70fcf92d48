// Keys and values of the sequences that one lane generates, in blocks of 16 tokens that come and go.
#pragma once

#include <cstdint>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/model/cpu/kernels.h"
#include "nodes/model/parameters.h"

namespace rlflow {

inline constexpr std::int64_t kBlockTokens = cpu::kLanes;

inline std::int64_t blocks_for(std::int64_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

// A block holds 16 tokens of a sequence in all layers; what one head of one layer keeps of them lies together, as
// cpu::PagedSpan reads it.
struct KvLayout {
  explicit KvLayout(const ModelConfig& config);
  std::int64_t kv_heads, head_dim, value_stride;
  std::int64_t head_floats, block_floats;

  std::int64_t offset(std::int64_t layer, std::int64_t kv_head) const {
    return (layer * kv_heads + kv_head) * head_floats;
  }
};

// A prompt, or the tokens of one response, as far as they have been read.
struct KvSequence {
  std::vector<float*> blocks;  // borrowed from the pool
  std::int64_t cached = 0;     // tokens whose keys and values are there

  // Writes those of token `at` of one head of a layer from a row of projections.
  void store(const KvLayout& layout, const ModelConfig& config, std::int64_t layer, std::int64_t kv_head,
             std::int64_t at, const float* projection) const;
  cpu::PagedSpan span(const KvLayout& layout, std::int64_t layer, std::int64_t kv_head, std::int64_t length) const {
    return {blocks.data(), layout.offset(layer, kv_head), length};
  }
};

// Blocks are made when they are first needed and kept for the next ones. One thread at a time.
class KvBlockPool {
 public:
  // Forgets all blocks; at most `limit` may be held from now on.
  void reset(const KvLayout& layout, std::int64_t limit);
  // Extends `sequence` to hold `tokens`; false, and nothing taken, where the limit forbids it.
  bool extend(KvSequence& sequence, std::int64_t tokens);
  // `to`, which holds blocks for them, gets the first `tokens` of `from`.
  void copy(const KvSequence& from, std::int64_t tokens, KvSequence& to) const;
  // Takes all blocks back.
  void release(KvSequence& sequence);

  std::int64_t held() const { return held_; }
  std::int64_t peak() const { return peak_; }

 private:
  std::int64_t block_floats_ = 0, limit_ = 0, held_ = 0, peak_ = 0;
  std::vector<at::Tensor> storage_;  // one block each
  std::vector<float*> free_;
};

}  // namespace rlflow
