// The pool of key and value blocks.
#include "nodes/rollout/kv_blocks.h"

#include <algorithm>

#include "nodes/model/attention.h"
#include "runtime/contract/check.h"

namespace rlflow {

KvLayout::KvLayout(const ModelConfig& config)
    : kv_heads(config.kv_heads),
      head_dim(config.head_dim),
      value_stride(cpu::padded(config.head_dim)),
      head_floats(kBlockTokens * (head_dim + value_stride)),
      block_floats(config.layers * kv_heads * head_floats) {}

void KvSequence::store(const KvLayout& layout, const ModelConfig& config, std::int64_t layer, std::int64_t kv_head,
                       std::int64_t at, const float* projection) const {
  const ProjectionColumns columns(config);
  const std::int64_t column = at % kBlockTokens;
  float* keys = blocks[static_cast<std::size_t>(at / kBlockTokens)] + layout.offset(layer, kv_head);
  const float* key = projection + columns.key + kv_head * layout.head_dim;
  for (std::int64_t d = 0; d < layout.head_dim; ++d) keys[d * kBlockTokens + column] = key[d];
  copy_padded(projection + columns.value + kv_head * layout.head_dim, 0, 1, layout.head_dim,
              keys + kBlockTokens * layout.head_dim + column * layout.value_stride);
}

void KvBlockPool::reset(const KvLayout& layout, std::int64_t limit) {
  if (layout.block_floats != block_floats_) storage_.clear();
  block_floats_ = layout.block_floats;
  limit_ = limit;
  held_ = peak_ = 0;
  free_.clear();
  for (auto block = storage_.rbegin(); block != storage_.rend(); ++block) free_.push_back(floats(*block));
}

bool KvBlockPool::extend(KvSequence& sequence, std::int64_t tokens) {
  const std::int64_t missing = blocks_for(tokens) - static_cast<std::int64_t>(sequence.blocks.size());
  if (missing <= 0) return true;
  if (held_ + missing > limit_) return false;
  for (std::int64_t i = 0; i < missing; ++i) {
    if (free_.empty()) {
      storage_.push_back(zero_floats(block_floats_));
      free_.push_back(floats(storage_.back()));
    }
    sequence.blocks.push_back(free_.back());
    free_.pop_back();
  }
  held_ += missing;
  peak_ = std::max(peak_, held_);
  return true;
}

void KvBlockPool::copy(const KvSequence& from, std::int64_t tokens, KvSequence& to) const {
  RLFLOW_CHECK(tokens <= from.cached && blocks_for(tokens) <= static_cast<std::int64_t>(to.blocks.size()), "no room");
  for (std::int64_t i = 0; i < blocks_for(tokens); ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::copy_n(from.blocks[at], block_floats_, to.blocks[at]);
  }
  to.cached = tokens;
}

void KvBlockPool::release(KvSequence& sequence) {
  held_ -= static_cast<std::int64_t>(sequence.blocks.size());
  free_.insert(free_.end(), sequence.blocks.rbegin(), sequence.blocks.rend());
  sequence.blocks.clear();
  sequence.cached = 0;
}

}  // namespace rlflow
