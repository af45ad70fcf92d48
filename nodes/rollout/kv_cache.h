// Keys and values of the sequences that one lane generates: each prompt's once, each response's own beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/model/cpu/kernels.h"
#include "nodes/model/parameters.h"
#include "nodes/model/transformer.h"

namespace rlflow {

// Contiguous; slots are never moved. Grows and is used again. One thread at a time.
class KvCache {
 public:
  // Room for prompts of these lengths and `slots` responses of up to `capacity` tokens.
  void reserve(const ModelConfig& config, std::span<const std::int64_t> prompt_lengths, std::int64_t slots,
               std::int64_t capacity);

  // Copies one layer of a prefill: `segment` of its projections becomes prompt `prompt`.
  void store_prompt(const ModelConfig& config, std::int64_t layer, std::int64_t prompt, const float* projections,
                    const Segment& segment);
  // Appends the keys and values of one projected row at `position` of the response in `slot`.
  void append(const ModelConfig& config, std::int64_t layer, std::int64_t slot, std::int64_t position,
              const float* projection);

  cpu::KeySpan prompt(const ModelConfig& config, std::int64_t layer, std::int64_t kv_head, std::int64_t prompt) const;
  cpu::KeySpan response(const ModelConfig& config, std::int64_t layer, std::int64_t kv_head, std::int64_t slot) const;

 private:
  float* prompt_keys(const ModelConfig& config, std::int64_t layer, std::int64_t kv_head, std::int64_t prompt) const;
  float* response_keys(const ModelConfig& config, std::int64_t layer, std::int64_t kv_head, std::int64_t slot) const;

  std::vector<std::int64_t> lengths_;         // of each prompt
  std::vector<std::int64_t> prompt_offsets_;  // floats
  std::int64_t response_offset_ = 0;
  std::int64_t capacity_ = 0;
  std::int64_t room_ = 0;
  at::Tensor storage_;
};

}  // namespace rlflow
