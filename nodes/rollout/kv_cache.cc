// Keys and values of the sequences that one lane generates: each prompt's once, each response's own beside it.
#include "nodes/rollout/kv_cache.h"

#include <algorithm>

#include "nodes/model/attention.h"

namespace rlflow {
namespace {

using cpu::padded;

// Floats of the keys of one head over `length` tokens; its values follow.
std::int64_t key_floats(const ModelConfig& config, std::int64_t length) { return config.head_dim * padded(length); }
std::int64_t head_floats(const ModelConfig& config, std::int64_t length) {
  return key_floats(config, length) + length * padded(config.head_dim);
}

}  // namespace

void KvCache::reserve(const ModelConfig& config, std::span<const std::int64_t> prompt_lengths, std::int64_t slots,
                      std::int64_t capacity) {
  const std::int64_t heads = config.layers * config.kv_heads;
  lengths_.assign(prompt_lengths.begin(), prompt_lengths.end());
  prompt_offsets_.clear();
  std::int64_t total = 0;
  for (std::int64_t length : lengths_) {
    prompt_offsets_.push_back(total);
    total += heads * head_floats(config, length);
  }
  response_offset_ = total;
  capacity_ = capacity;
  total += slots * heads * head_floats(config, capacity);
  if (total > room_) {
    storage_ = zero_floats(total);
    room_ = total;
  }
}

float* KvCache::prompt_keys(const ModelConfig& config, std::int64_t layer, std::int64_t kv_head,
                            std::int64_t prompt) const {
  const auto p = static_cast<std::size_t>(prompt);
  return floats(storage_) + prompt_offsets_[p] + (layer * config.kv_heads + kv_head) * head_floats(config, lengths_[p]);
}

float* KvCache::response_keys(const ModelConfig& config, std::int64_t layer, std::int64_t kv_head,
                              std::int64_t slot) const {
  const std::int64_t head = (slot * config.layers + layer) * config.kv_heads + kv_head;
  return floats(storage_) + response_offset_ + head * head_floats(config, capacity_);
}

void KvCache::store_prompt(const ModelConfig& config, std::int64_t layer, std::int64_t prompt, const float* projections,
                           const Segment& segment) {
  const ProjectionColumns columns(config);
  const float* rows = projections + segment.begin * columns.width;
  for (std::int64_t head = 0; head < config.kv_heads; ++head) {
    float* keys = prompt_keys(config, layer, head, prompt);
    copy_transposed(rows + columns.key + head * config.head_dim, columns.width, segment.length, config.head_dim, keys,
                    padded(segment.length));
    copy_padded(rows + columns.value + head * config.head_dim, columns.width, segment.length, config.head_dim,
                keys + key_floats(config, segment.length));
  }
}

void KvCache::append(const ModelConfig& config, std::int64_t layer, std::int64_t slot, std::int64_t position,
                     const float* projection) {
  const ProjectionColumns columns(config);
  const std::int64_t stride = padded(capacity_);
  for (std::int64_t head = 0; head < config.kv_heads; ++head) {
    float* keys = response_keys(config, layer, head, slot);
    const float* key = projection + columns.key + head * config.head_dim;
    for (std::int64_t d = 0; d < config.head_dim; ++d) keys[d * stride + position] = key[d];
    copy_padded(projection + columns.value + head * config.head_dim, 0, 1, config.head_dim,
                keys + key_floats(config, capacity_) + position * padded(config.head_dim));
  }
}

cpu::KeySpan KvCache::prompt(const ModelConfig& config, std::int64_t layer, std::int64_t kv_head,
                             std::int64_t prompt) const {
  const std::int64_t length = lengths_[static_cast<std::size_t>(prompt)];
  const float* keys = prompt_keys(config, layer, kv_head, prompt);
  return {keys, keys + key_floats(config, length), padded(length), padded(config.head_dim), length};
}

cpu::KeySpan KvCache::response(const ModelConfig& config, std::int64_t layer, std::int64_t kv_head,
                               std::int64_t slot) const {
  const float* keys = response_keys(config, layer, kv_head, slot);
  return {keys, keys + key_floats(config, capacity_), padded(capacity_), padded(config.head_dim), capacity_};
}

}  // namespace rlflow
