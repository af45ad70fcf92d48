// RMS norms of rows, forward and backward (Zhang and Sennrich 2019): y = x·s·(weight + offset), s = 1/√(mean(x²)+eps).
//
// x, y, weight and gradients of x are of `type`; s, sums and gradients of weights are f32. Sums have a fixed order, so
// a row's bits depend on that row alone.
#pragma once

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

struct NormShape {
  Element type;
  std::int64_t size;  // of a row
  float eps;
  float offset;  // of the weights: 0, or 1 where they are stored as w − 1
};

// y[i] = norm(x[rows ? rows[i] : i]) (+ added[i], where that is not null) for i < count; `scales` f32[count] may be
// null. `added` may be y.
void rms_norm(const NormShape& shape, const void* x, const void* weight, std::int64_t count, const std::int32_t* rows,
              const void* added, void* y, float* scales, const Stream& stream);

// With dy[i] the gradient of y[i]: dx[r] (+)= that of x[r], r = rows ? rows[i] : i (no row twice), and dweight
// f32[size]
// += its sum over i. dx may be dy where rows is null. `scratch` has norm_scratch(size) bytes.
std::int64_t norm_scratch(std::int64_t size);
void rms_norm_backward(const NormShape& shape, const void* x, const void* weight, const float* scales, const void* dy,
                       std::int64_t count, const std::int32_t* rows, void* dx, bool add, float* dweight, void* scratch,
                       const Stream& stream);

// sum f32[size] += Σ_i factor_i·x[i] of x[count, size]; factors f32[count], null: 1. `scratch` has
// column_scratch(size) bytes.
std::int64_t column_scratch(std::int64_t size);
void add_column_sums(Element type, const void* x, const float* factors, std::int64_t count, std::int64_t size,
                     float* sum, void* scratch, const Stream& stream);

}  // namespace rlflow::cuda
