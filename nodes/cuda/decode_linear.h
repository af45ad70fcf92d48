// Products of few rows in bf16 with what stands around them: norms before, biases, gates, residual sums and draws
// after.
//
// The residual stream is hidden f32[rows, size]. What a norm needs of it goes from kernel to kernel as two parts: the
// stream times the norm's weights in bf16, and sums of squares of 16 elements each; the reader divides its result by
// the root of their mean. The order of every sum depends on the shape of the weights alone, so that a row has the same
// bits in a step of any number of rows up to kMostFewRows.
#pragma once

#include "nodes/cuda/decode_rows.h"
#include "nodes/cuda/sample_rows.h"

namespace rlflow::cuda {

inline constexpr int kMostFewRows = 32;
inline constexpr int kSquareElements = 16;  // of a part of the sums of squares
inline constexpr int kHeadTile = 128;       // tokens of the vocabulary that leave one DrawPart

// Whether these kernels multiply so many rows with a matrix [outputs, inputs]: outputs divisible by 16, inputs by 64,
// at a multiple of 16 bytes, the rows' share of a block in shared memory.
bool few_rows_serve(const void* weights, std::int64_t rows, std::int64_t outputs, std::int64_t inputs);

// The stream on its way into a norm.
struct Weighted {
  void* x;         // bf16[rows, size]: the stream times the weights of the norm that reads it next
  float* squares;  // f32[rows, size/16]: of the stream
};
struct NextNorm {
  const void* weight;  // bf16[size]
  float offset;
};

// hidden, and what the first norm needs, of the rows' embeddings times `scale`; idle rows: 0.
void embed_weighted_rows(const Stream& stream, const StepRow* rows, int count, const void* embedding, int size,
                         float scale, const NextNorm& next, float* hidden, const Weighted& out);

// y f32[rows, outputs] = norm(x)·Wᵀ, of x with `inputs` columns.
void project_few_rows(const Stream& stream, const Weighted& x, int count, float eps, const void* weights, int outputs,
                      int inputs, float* y);

// hidden += x·Wᵀ + bias (may be null) for x bf16[rows, inputs]; `out` is for the next norm.
void add_few_rows(const Stream& stream, const void* x, int count, const void* weights, const void* bias, int outputs,
                  int inputs, const NextNorm& next, float* hidden, const Weighted& out);

// y bf16[rows, inner] = activation(gate)·up of norm(x)·Wᵀ + bias (may be null), W [gate | up, inputs].
void gate_few_rows(const Stream& stream, const Weighted& x, int count, float eps, const void* weights, const void* bias,
                   int inner, int inputs, Gate gate, void* y);

// parts [rows, head_tiles(vocabulary)] of the draws from logits norm(x)·Wᵀ; draws[i] belongs to row i.
inline int head_tiles(int vocabulary) { return (vocabulary + kHeadTile - 1) / kHeadTile; }
void draw_few_rows(const Stream& stream, const Weighted& x, int count, float eps, const void* weights, int vocabulary,
                   int inputs, const Draw* draws, const SamplerSettings* settings, DrawPart* parts);

}  // namespace rlflow::cuda
