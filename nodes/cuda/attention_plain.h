// Attention without tensor cores: any type, any head_dim up to 256. Only nodes/cuda includes this.
#pragma once

#include "nodes/cuda/attention.h"

namespace rlflow::cuda {

inline constexpr TileRows kPlainTileRows = {32, 32};

void attention_plain(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections, void* out,
                     float* log_sums, const Stream& stream);
void attention_plain_backward(const AttentionShape& shape, const AttentionTiles& tiles, const void* projections,
                              const float* log_sums, const void* dout, void* dprojections, const float* deltas,
                              const Stream& stream);

}  // namespace rlflow::cuda
