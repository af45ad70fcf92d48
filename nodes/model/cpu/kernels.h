// The CPU arithmetic of the transformer: one table of plain functions for each instruction set.
//
// All are single-threaded, allocate nothing, and treat every row on its own with one fixed order of additions,
// so the bits of a row never depend on which other rows are computed beside it. Callers run rows in parallel.
// Sums run over 16 lanes that are added in a fixed tree, whatever the width of the machine's registers.
#pragma once

#include <cstdint>
#include <span>

namespace rlflow::cpu {

inline constexpr std::int64_t kLanes = 16;

constexpr std::int64_t padded(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

// C(i, j) = (add ? C(i, j) : 0) + Σ_t A(i, t)·B(t, j), t ascending, for i < rows, j < columns, t < depth.
struct Product {
  std::int64_t rows, columns, depth;
  const float* a;
  std::int64_t a_row, a_depth;  // A(i, t) = a[i·a_row + t·a_depth]
  const float* b;
  std::int64_t b_depth, b_panel;  // B(t, j) = b[j/16·b_panel + t·b_depth + j%16]
  bool b_padded;                  // the last panel of B has 16 readable columns
  float* c;
  std::int64_t c_row;  // C(i, j) = c[i·c_row + j]
  bool add;
};

// Keys and values of one head: keys f32[⌈length/16⌉, head_dim, 16] (16 of them at a time, transposed), values
// f32[length, value_stride], value_stride a multiple of 16; what lies beyond the data is never used. Keys before
// `first` are not seen.
struct KeySpan {
  const float* keys;
  const float* values;
  std::int64_t value_stride;
  std::int64_t length;
  std::int64_t first = 0;
};

// One query against a span shared with other sequences and then the first `own_visible` of its own.
struct Attention {
  KeySpan shared, own;
  std::int64_t own_visible;
  std::int64_t head_dim;
  float scale;
  float* scores;  // scratch of padded(shared.length) + padded(own.length) floats
};

// The same in blocks of 16 tokens that lie anywhere: block b holds keys f32[head_dim, 16] (transposed) at
// blocks[b] + offset and behind them values f32[16, padded(head_dim)].
struct PagedSpan {
  const float* const* blocks;
  std::int64_t offset;
  std::int64_t length;
  std::int64_t first = 0;
};
struct PagedAttention {
  PagedSpan shared, own;
  std::int64_t own_visible;
  std::int64_t head_dim;
  float scale;
  float* scores;  // scratch of padded(shared.length) + padded(own_visible) floats
};

// What the gradient needs beside the forward pass, for the shared and the own span. A span's gradients are
// f32[length, value_stride], keys not transposed.
struct SpanGradient {
  const float* key_rows;       // f32[length, value_stride]: the keys not transposed
  const float* value_columns;  // f32[⌈length/16⌉, head_dim, 16]: the values as keys are
  float* dkeys;
  float* dvalues;
};
struct AttentionGradient {
  SpanGradient shared, own;
  float* dscores;  // scratch, as large as Attention::scores
};

// Of softmax(z·inverse_temperature): what the log-probability of any token is taken from, and the entropy of all.
struct Softmax {
  float top;       // the largest z
  float mass;      // Σ e^((z − top)·inverse_temperature), at least 1
  float log_mass;  // ln of it
  float entropy;

  float logprob(float z, float inverse_temperature) const {
    const float exponent = (z - top) * inverse_temperature;
    return exponent - log_mass;
  }
};

// Which tokens sampling chooses from. All that is kept is what has at least some logit: ties at a border stay.
struct Truncation {
  std::int64_t top_k = 0;  // the k most likely; 0: all
  double top_p = 1;        // of these the smallest set with this share of their probability; 1: all
  double min_p = 0;        // of these those with at least this share of the most likely one's probability; 0: all
};

struct AdamStep {
  float learning_rate, beta1, beta2, eps, decay;
  float gradient_scale;                 // the gradient is multiplied by it first
  float correction1, root_correction2;  // 1 − β1^t, √(1 − β2^t)
};

// Sums over elements of the two words of mix128 (nodes/model/weights_digest.h): of the low and the high 32 bits of its
// `lo`, and of its `hi` mod 2^64.
struct DigestSums {
  std::uint64_t lo_low, lo_high, hi;
};

struct Kernels {
  void (*product)(const Product&);

  // y = x·scale·(weight + weight_offset), scale = 1/√(mean(x²)+eps); `scales` f32[rows] may be null, y may be x.
  void (*rms_norm)(const float* x, const float* weight, float weight_offset, std::int64_t rows, std::int64_t size,
                   float eps, float* y, float* scales);
  // dx (+)= the gradient of rms_norm; dweight += its part. dx may be dy.
  void (*rms_norm_backward)(const float* x, const float* weight, float weight_offset, const float* scales,
                            const float* dy, std::int64_t rows, std::int64_t size, float* dx, bool add, float* dweight);

  // Rotates `heads` heads of each row in place; `row_stride` apart; cos and sin f32[max_positions, head_dim/2];
  // direction +1, or -1 for the gradient.
  void (*rope)(float* x, std::int64_t row_stride, const std::int32_t* positions, std::int64_t rows, std::int64_t heads,
               std::int64_t head_dim, const float* cos, const float* sin, float direction);

  // y = silu(gate)·up for gate_up f32[rows, 2·size].
  void (*swiglu)(const float* gate_up, std::int64_t rows, std::int64_t size, float* y);
  // Overwrites gate_up with its gradient.
  void (*swiglu_backward)(float* gate_up, const float* dy, std::int64_t rows, std::int64_t size);
  // The same with gelu in its tanh form, gelu(x) = ½x(1 + tanh(√(2/π)(x + 0.044715x³))), for silu.
  void (*geglu)(const float* gate_up, std::int64_t rows, std::int64_t size, float* y);
  void (*geglu_backward)(float* gate_up, const float* dy, std::int64_t rows, std::int64_t size);

  // out f32[head_dim] = softmax(scale·q·K)·V; returns the log-sum-exp of the scaled scores.
  float (*attend)(const Attention&, const float* q, float* out);
  float (*attend_paged)(const PagedAttention&, const float* q, float* out);  // the same bits
  // Adds to dq f32[head_dim] and to the gradients of keys and values.
  void (*attend_backward)(const Attention&, const AttentionGradient&, const float* q, const float* out, float lse,
                          const float* dout, float* dq);

  Softmax (*softmax)(const float* z, std::int64_t vocabulary, float inverse_temperature);
  // Overwrites z, whose softmax is given, with d/dz of dentropy·entropy − dlog_mass·ln Σ e^(z·inverse_temperature). A
  // log-probability of slope d adds d to dlog_mass; d·inverse_temperature at its own token the caller adds to the
  // result.
  void (*softmax_backward)(float* z, std::int64_t vocabulary, float inverse_temperature, const Softmax&,
                           float dlog_mass, float dentropy);
  // argmax of z·inverse_temperature + Gumbel noise over the tokens with z ≥ floor, the lower id on ties; the noise of
  // entry v is −ln(−ln u) with u from word v%4 of philox4x32({v/4, position, 0, 0}, key).
  std::int32_t (*sample_token)(const float* z, std::int64_t vocabulary, float inverse_temperature, float floor,
                               std::uint64_t key, std::uint32_t position);
  // The `floor` of sample_token that truncates softmax(z·inverse_temperature) as asked; `scratch` f32[vocabulary].
  float (*sampling_floor)(const float* z, std::int64_t vocabulary, float inverse_temperature, const Truncation&,
                          float* scratch);
  std::int32_t (*likeliest_token)(const float* z, std::int64_t vocabulary);  // the lower id on ties

  // One AdamW step over `count` elements; nodes/model/adamw.h has the formula.
  void (*adamw)(const AdamStep&, std::int64_t count, float* parameter, const float* gradient, float* moment1,
                float* moment2);
  double (*sum_of_squares)(const float* x, std::int64_t count);
  void (*add)(const float* x, std::int64_t count, float* y);  // y += x

  // Of values[i] as element first + i of tensor `id`; at most 2^31 of them.
  DigestSums (*digest_sums)(std::uint64_t id, std::uint64_t first, const float* values, std::int64_t count);
};

struct KernelTable {
  const char* name;  // "avx512", "avx2" or "baseline"
  const Kernels* kernels;
};

// Those that this processor can run, the best first. The tables for AVX2 and AVX-512 give equal bits; the one without
// fused multiply-add does not.
std::span<const KernelTable> supported_kernels();

const Kernels& kernels();  // the best
const char* kernels_name();

}  // namespace rlflow::cpu
