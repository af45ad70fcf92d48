// From logits to log-probabilities and entropies of tokens, and back; and heads of one row (values).
#pragma once

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

// Targets of the rows of logits: those of row u are targets[begins[u]] … targets[begins[u + 1] − 1]. On the device.
struct RowTargets {
  const std::int32_t* begins;  // [rows + 1]
  const std::int32_t* tokens;  // of each target
};

// Of softmax(logits·inverse_temperature) of each row of f32[rows, vocabulary]: the largest scaled logit + ln Σ e^…, and
// the entropy.
struct RowSoftmax {
  float log_sum, entropy;
};

// softmax[u] of each row, and for each target logprob and (unless null) entropy.
void read_logits(const float* logits, std::int64_t rows, std::int64_t vocabulary, float inverse_temperature,
                 const RowTargets& targets, RowSoftmax* softmax, float* logprob, float* entropy, const Stream& stream);

// In place, from logits f32 to the gradient of Σ dlogprob·logprob + dentropy·entropy over the targets. In bf16 a row of
// gradients stands in the first half of its row of logits: its stride is 2·vocabulary numbers.
void logits_gradient(float* logits, std::int64_t rows, std::int64_t vocabulary, float inverse_temperature,
                     const RowTargets& targets, const RowSoftmax* softmax, const float* dlogprob, const float* dentropy,
                     Element type, const Stream& stream);

// value f32[count] = x[count, size]·w[size].
void read_values(Element type, const void* x, const void* w, std::int64_t count, std::int64_t size, float* value,
                 const Stream& stream);
// dx[i] = dvalue[i]·w
void values_gradient(Element type, const float* dvalue, const void* w, std::int64_t count, std::int64_t size, void* dx,
                     const Stream& stream);

// sum[u] = Σ of numbers[begins[u]] … numbers[begins[u + 1] − 1]; out[i] = rows[u] for the targets i of u.
void sum_targets(const float* numbers, const std::int32_t* begins, std::int64_t rows, float* sum, const Stream& stream);
void spread_rows(const float* rows, const std::int32_t* begins, std::int64_t count, float* out, const Stream& stream);

}  // namespace rlflow::cuda
