// Rows of the embedding, and their gradient.
#pragma once

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

// out[i] = table[tokens[i]]·scale; table [vocabulary, size].
void embed(Element type, const void* table, const std::int32_t* tokens, std::int64_t count, std::int64_t size,
           float scale, void* out, const Stream& stream);

// The rows of each token that occurs: those of token tokens[t] are rows[begins[t]] … rows[begins[t + 1] − 1],
// ascending. On the device.
struct TokenGroups {
  const std::int32_t* tokens;
  const std::int32_t* begins;  // [count + 1]
  const std::int32_t* rows;
  std::int64_t count;
};

// dtable f32[vocabulary, size][tokens[t]] += scale·Σ d[rows of t], in the order of the rows.
void embed_backward(Element type, const void* d, const TokenGroups& groups, std::int64_t size, float scale,
                    float* dtable, const Stream& stream);

}  // namespace rlflow::cuda
