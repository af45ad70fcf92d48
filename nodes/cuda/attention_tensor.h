// Attention on tensor cores: bf16, head_dim 64 or 128. Only nodes/cuda includes this.
#pragma once

#include "nodes/cuda/attention.h"

namespace rlflow::cuda {

// Whether these kernels compute a shape; rows must begin at multiples of 16 bytes.
bool on_tensor_cores(const AttentionShape& shape);
TileRows tensor_tile_rows(const AttentionShape& shape);

void attention_tensor(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections, void* out,
                      float* log_sums, const Stream& stream);
// `partials`: as attention_scratch says.
std::int64_t tensor_scratch(const AttentionShape& shape, const AttentionTiles& tiles, std::int64_t rows);
void attention_tensor_backward(const AttentionShape& shape, const AttentionTiles& tiles, std::int64_t rows,
                               const void* projections, const float* log_sums, const void* dout, void* dprojections,
                               const float* deltas, float* partials, const Stream& stream);

}  // namespace rlflow::cuda
