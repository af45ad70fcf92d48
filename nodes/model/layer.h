// The arithmetic of one layer over rows, shared by packed passes and decoding: everything but attention itself.
//
// A row's result depends on that row alone, so the same row gets the same bits in a pass of any size.
#pragma once

#include <cstdint>
#include <span>

#include "nodes/format/model_config.h"
#include "nodes/model/lanes.h"
#include "nodes/model/lora.h"
#include "nodes/model/parameters.h"
#include "nodes/model/rotary.h"

namespace rlflow {

// All that a pass reads; borrowed, not changed, so any number of threads may pass at once.
struct TransformerView {
  const ModelConfig& config;
  const ParameterLayout& layout;
  const float* parameters;
  const ForwardPanels& panels;
  const RotaryTables& rotary;
  std::int32_t threads = 1;  // that share a large product; more than one only outside run_lanes
  // Not null: all members of a team make the same calls at the same time, and each computes its share. Forward only.
  const Team::Member* member = nullptr;
  // Not null: they alone are trained. Gradients are laid out as they are; `panels` have them merged, `parameters` not.
  const AdapterView* adapters = nullptr;

  TransformerView with_threads(std::int32_t count) const {
    return {config, layout, parameters, panels, rotary, count, nullptr, adapters};
  }
  TransformerView with_member(const Team::Member& of) const {
    return {config, layout, parameters, panels, rotary, 1, &of, adapters};
  }
  // Floats of a gradient.
  std::int64_t trained() const { return adapters ? adapters->layout.size : layout.size; }
  // Where the gradient of the parameter at `offset` is added; null where it is frozen.
  float* gradient_at(float* gradient, std::int64_t offset) const { return adapters ? nullptr : gradient + offset; }
};

// Buffers of one layer for R rows. Those marked † are read by the backward pass alone: null where none follows.
struct LayerRows {
  float* attention_scales = nullptr;         // † f32[R] of the norm before attention
  float* query_key = nullptr;                // † f32[R, query_size + kv_size] before the norms of heads
  float* head_scales = nullptr;              // † f32[R, heads + kv_heads] of those norms
  float* projections = nullptr;              // f32[R, query_size + 2·kv_size], after RoPE
  float* attended = nullptr;                 // f32[R, query_size]
  float* attention_branch = nullptr;         // f32[R, hidden]: what attention adds, before its norm; null without one
  float* attention_branch_scales = nullptr;  // † f32[R]
  float* mlp_scales = nullptr;               // † f32[R] of the norm before the MLP
  float* gate_up = nullptr;                  // f32[R, 2·intermediate_size]
  float* mlp_branch = nullptr;               // f32[R, hidden]: what the MLP adds, before its norm; null without one
  float* mlp_branch_scales = nullptr;        // † f32[R]
};

// What a norm of this model adds to its weights.
inline float norm_offset(const ModelConfig& config) { return config.norms_from_one ? 1.0f : 0.0f; }

// What embeddings are multiplied by: √hidden_size rounded to f32, or 1.
float embedding_scale(const ModelConfig& config);

// y f32[R, intermediate_size] = activation(gate)·up of gate_up f32[R, 2·intermediate_size].
void gated(const ModelConfig& config, const float* gate_up, std::int64_t count, float* y);

// y f32[R, hidden] = the norm at `weight` of x; `scales` may be null.
void norm_rows(const TransformerView& model, std::int64_t weight, const float* x, std::int64_t count, float* y,
               float* scales);

// out f32[R, hidden] = the embeddings of `tokens`, scaled where the model does.
void embed(const TransformerView& model, std::span<const std::int32_t> tokens, float* out);
// Adds to the embedding's part of `gradient`; d f32[R, hidden] is overwritten.
void embed_backward(const TransformerView& model, std::span<const std::int32_t> tokens, float* d, float* gradient);

// at.projections of `input` f32[R, hidden], R = positions.size(); `normed` is scratch as large as `input`.
void project(const TransformerView& model, std::int64_t layer, std::span<const std::int32_t> positions,
             const float* input, const LayerRows& at, float* normed);

// sum f32[R, hidden] += the attention branch of at.attended; `normed` f32[R, hidden] is scratch.
void add_attention(const TransformerView& model, std::int64_t layer, std::int64_t count, const LayerRows& at,
                   float* normed, float* sum);

// sum f32[R, hidden] += the MLP branch of `middle`, which may be `sum`; `normed` f32[R, hidden] and `wide`
// f32[R, intermediate_size] are scratch.
void add_mlp(const TransformerView& model, std::int64_t layer, std::int64_t count, const float* middle,
             const LayerRows& at, float* normed, float* wide, float* sum);

// Scratch of the backward pass over R rows.
struct LayerGradients {
  float* normed;         // f32[R, hidden]
  float* branch;         // f32[R, hidden]; null where the model has no branch norms
  float* wide;           // f32[R, max(intermediate_size, query_size, width of projections)]
  float* wide_gradient;  // the same
};

// The three backwards; `d` f32[R, hidden] is dL/d(sum), and all add to `gradient`, laid out as the parameters.
//
// d += the gradient through the MLP branch; overwrites at.gate_up.
void mlp_backward(const TransformerView& model, std::int64_t layer, std::int64_t count, const float* middle,
                  const LayerRows& at, const LayerGradients& scratch, float* d, float* gradient);
// scratch.wide = dL/d(at.attended) f32[R, query_size].
void attention_branch_backward(const TransformerView& model, std::int64_t layer, std::int64_t count,
                               const LayerRows& at, const LayerGradients& scratch, const float* d, float* gradient);
// With dL/d(at.projections) in scratch.wide_gradient: d += the gradient through the projections.
void project_backward(const TransformerView& model, std::int64_t layer, std::span<const std::int32_t> positions,
                      const float* input, const LayerRows& at, const LayerGradients& scratch, float* d,
                      float* gradient);

}  // namespace rlflow
