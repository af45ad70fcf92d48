// Attention over packed rows, and the layout of keys and values that it shares with the KV cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/model/cpu/kernels.h"
#include "nodes/model/packed_rows.h"

namespace rlflow {

// Columns of a row of projections f32[query_size + 2·kv_size]: queries, keys, values, head by head.
struct ProjectionColumns {
  explicit ProjectionColumns(const ModelConfig& config)
      : key(config.query_size()), value(key + config.kv_size()), width(value + config.kv_size()) {}
  std::int64_t key, value, width;
};

// Copies `length` rows of one head (row_stride apart) to rows `at` and following of `columns` f32[blocks, head_dim,
// 16], where 16 rows at a time are transposed.
void copy_transposed(const float* rows, std::int64_t row_stride, std::int64_t length, std::int64_t head_dim,
                     std::int64_t at, float* columns);
// The same to f32[length, padded(head_dim)], the padding zero.
void copy_padded(const float* rows, std::int64_t row_stride, std::int64_t length, std::int64_t head_dim,
                 float* padded_rows);

// Scratch of one thread; grows and is used again.
struct AttentionScratch {
  // Keys and values of the segments from the root of a trie to the latest, and their gradients.
  struct Path {
    std::vector<std::int32_t> segments;
    std::int64_t length = 0;  // rows
    std::vector<float> keys, values, key_rows, value_columns, dkeys, dvalues;
  };
  Path prompt, response;
  std::vector<float> scores, dscores;
};

// Hides from the newest of attention.own_visible keys what lies before the window of a sliding layer. Both spans of one
// sequence adjoin, so the window is counted over own and shared together.
template <class Attention>
void limit_to_window(const ModelConfig& config, std::int64_t layer, Attention& attention) {
  if (!config.slides(layer)) return;
  const std::int64_t first = std::max<std::int64_t>(0, attention.shared.length + attention.own_visible - config.window);
  attention.shared.first = std::min(first, attention.shared.length);
  attention.own.first = first - attention.shared.first;
}

// What scores are multiplied by: 1/√query_scalar.
float attention_scale(const ModelConfig& config);

// projections f32[rows, width] after RoPE → out f32[rows, query_size], log_sums f32[rows, heads]. `scratch`: one for
// each thread that shares the heads of keys, which changes no bit.
void attention(const ModelConfig& config, std::int64_t layer, const PackedRows& rows, const float* projections,
               float* out, float* log_sums, std::span<AttentionScratch> scratch);

// dprojections f32[rows, width] is overwritten with the gradient (before RoPE is undone).
void attention_backward(const ModelConfig& config, std::int64_t layer, const PackedRows& rows, const float* projections,
                        const float* out, const float* log_sums, const float* dout, float* dprojections,
                        std::span<AttentionScratch> scratch);

}  // namespace rlflow
