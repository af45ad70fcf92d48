// Attention of packed rows, forward and backward, without the matrix of scores (Dao et al. 2022, "FlashAttention").
//
// Rows lie end to end in segments; a row attends to the rows of its own segment up to itself and to all rows of the
// segments before it in its chain of prefixes, of these to the newest `window` alone where that is not 0. Sums of a row
// run over tiles in a fixed order and in f32; gradients of keys and values are summed by the tile that owns them. No
// atomics.
#pragma once

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

struct AttentionShape {
  Element type;
  std::int64_t heads, kv_heads, head_dim;
  std::int64_t width;   // of a row of projections: queries, keys, values
  std::int64_t window;  // 0: none
  float scale;          // of scores
};

// Rows begin … begin + length − 1, at the positions position, position + 1, … of their sequence.
struct RowSpan {
  std::int32_t begin, length, position;
};

// Rows of one segment that a block computes together, and the spans it meets: for queries, the chain of prefixes and at
// last its own segment; for keys, its own segment and then all that have it as a prefix.
struct RowTile {
  RowSpan rows;
  std::int32_t first_span, last_span;  // spans[first_span … last_span − 1]
};

// On the device.
struct AttentionTiles {
  const RowTile* queries;
  std::int64_t query_count;
  const RowTile* keys;  // read by the backward pass alone
  std::int64_t key_count;
  const RowSpan* spans;
};

// Most rows of a tile.
struct TileRows {
  std::int32_t queries, keys;
};
TileRows tile_rows(const AttentionShape& shape);

// projections [rows, width] after turning → out [rows, heads·head_dim], log_sums f32[rows, heads]: ln Σ e^score.
void attention(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections, void* out,
               float* log_sums, const Stream& stream);

// dprojections [rows, width] is written whole; `deltas` f32[rows, heads] and `partials`, of attention_scratch bytes,
// are scratch.
std::int64_t attention_scratch(const AttentionShape& shape, const AttentionTiles& tiles, std::int64_t rows);
void attention_backward(const AttentionShape& shape, const AttentionTiles& tiles, std::int64_t rows,
                        const void* projections, const void* out, const float* log_sums, const void* dout,
                        void* dprojections, float* deltas, void* partials, const Stream& stream);

}  // namespace rlflow::cuda
