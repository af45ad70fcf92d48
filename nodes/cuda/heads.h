// What happens to query and key heads between projection and attention: RMS norms of heads where a model has them, and
// rotary positions (Su et al. 2021), whose pairs are i and i + head_dim/2.
#pragma once

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

struct HeadShape {
  Element type;
  std::int64_t heads, kv_heads, head_dim;
  std::int64_t width;  // of a row of projections: queries, keys, values
  bool norms;
  float eps, offset;  // of the norms
};

// All that the two share. cos and sin f32[max_positions, head_dim/2]; positions i32[count]. Where there are norms:
// weights [head_dim]; unnormed [count, (heads + kv_heads)·head_dim] and scales f32[count, heads + kv_heads] are written
// by the forward pass, unless null, and read by the backward pass.
struct HeadRows {
  const std::int32_t* positions;
  const float *cos, *sin;
  const void *query_weight, *key_weight;
  void* unnormed;
  float* scales;
};

// projections [count, width] in place; values are left as they are.
void turn_heads(const HeadShape& shape, const HeadRows& rows, std::int64_t count, void* projections,
                const Stream& stream);

// In place: from the gradient of turned heads to that of the projections. The gradients of the norms' weights are added
// to dquery_weight and dkey_weight f32[head_dim]; `scratch` has head_scratch(shape) bytes.
std::int64_t head_scratch(const HeadShape& shape);
void turn_heads_backward(const HeadShape& shape, const HeadRows& rows, std::int64_t count, void* dprojections,
                         float* dquery_weight, float* dkey_weight, void* scratch, const Stream& stream);

}  // namespace rlflow::cuda
