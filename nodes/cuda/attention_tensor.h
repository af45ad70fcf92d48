// Attention on tensor cores: bf16, head_dim 64 or 128. Only nodes/cuda includes this.
#pragma once

#include "nodes/cuda/attention.h"

namespace rlflow::cuda {

// Whether these kernels compute a shape; rows must begin at multiples of 16 bytes.
bool on_tensor_cores(const AttentionShape& shape);
TileRows tensor_tile_rows(const AttentionShape& shape);

void attention_tensor(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections, void* out,
                      float* log_sums, const Stream& stream);
void attention_tensor_backward(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections,
                               const float* log_sums, const void* dout, void* dprojections, const float* deltas,
                               const Stream& stream);

}  // namespace rlflow::cuda
