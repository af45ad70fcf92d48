// The arithmetic of one layer over rows, backward.
#include <algorithm>

#include "nodes/model/attention.h"
#include "nodes/model/cpu/kernels.h"
#include "nodes/model/layer.h"
#include "nodes/model/linear.h"

namespace rlflow {
namespace {

const LayerOffsets& offsets_of(const TransformerView& model, std::int64_t layer) {
  return model.layout.layers[static_cast<std::size_t>(layer)];
}

// One matrix of a layer.
struct Linear {
  std::int64_t offset, outputs, inputs;
  std::vector<Adapter> LayerAdapters::*adapters;
  std::int64_t layer;
};

const std::vector<Adapter>& adapters_of(const TransformerView& model, const Linear& linear) {
  return model.adapters->layout.layers[static_cast<std::size_t>(linear.layer)].*linear.adapters;
}

void bias_backward(const TransformerView& model, std::int64_t offset, std::int64_t size, std::int64_t count,
                   const float* dy, float* gradient) {
  if (offset == kAbsent || model.adapters) return;
  for (std::int64_t row = 0; row < count; ++row) cpu::kernels().add(dy + row * size, size, gradient + offset);
}

void norm_backward(const TransformerView& model, std::int64_t weight, const float* x, const float* scales,
                   const float* dy, std::int64_t count, float* dx, bool add, float* gradient) {
  cpu::kernels().rms_norm_backward(x, model.parameters + weight, norm_offset(model.config), scales, dy, count,
                                   model.config.hidden_size, dx, add, model.gradient_at(gradient, weight));
}

// A linear layer f32[outputs, inputs] at `offset`, backward: from dy f32[count, outputs] to dx f32[count, inputs],
// which may be `x`; its gradient, or that of its adapters, is added to `gradient`.
void matrix_backward(const TransformerView& model, const Linear& linear, const float* dy, const float* x,
                     std::int64_t count, float* dx, float* gradient) {
  const std::int64_t offset = linear.offset, outputs = linear.outputs, inputs = linear.inputs;
  AdapterScratch scratch;
  if (model.adapters == nullptr) {
    linear_weight_gradient(dy, outputs, x, inputs, count, gradient + offset, model.threads);
  } else {
    adapter_gradients(*model.adapters, adapters_of(model, linear), dy, outputs, x, count, model.threads, scratch,
                      gradient);
  }
  linear_input_gradient(model.parameters + offset, outputs, inputs, dy, count, dx, false, model.threads);
  if (model.adapters) {
    add_adapter_input_gradient(*model.adapters, adapters_of(model, linear), count, model.threads, scratch, dx);
  }
}

// dL/d(branch before its norm): d itself where there is none.
const float* branch_backward(const TransformerView& model, std::int64_t norm, const float* unnormed,
                             const float* scales, const float* d, std::int64_t count, float* out, float* gradient) {
  if (norm == kAbsent) return d;
  norm_backward(model, norm, unnormed, scales, d, count, out, false, gradient);
  return out;
}

// In place: from the gradient of the normed query and key heads to that of the projections.
void heads_backward(const TransformerView& model, const LayerOffsets& offsets, std::int64_t count, const LayerRows& at,
                    float* d, float* gradient) {
  const ModelConfig& config = model.config;
  const ProjectionColumns columns(config);
  const float offset = norm_offset(config);
  for (std::int64_t row = 0; row < count; ++row) {
    float* query = d + row * columns.width;
    float* key = query + columns.key;
    const float* x = at.query_key + row * columns.value;
    const float* scales = at.head_scales + row * (config.heads + config.kv_heads);
    cpu::kernels().rms_norm_backward(x, model.parameters + offsets.query_norm, offset, scales, query, config.heads,
                                     config.head_dim, query, false, model.gradient_at(gradient, offsets.query_norm));
    cpu::kernels().rms_norm_backward(x + columns.key, model.parameters + offsets.key_norm, offset,
                                     scales + config.heads, key, config.kv_heads, config.head_dim, key, false,
                                     model.gradient_at(gradient, offsets.key_norm));
  }
}

// gate_up = dL/d(gate_up) from dL/d(gated).
void gated_backward(const ModelConfig& config, float* gate_up, const float* dy, std::int64_t count) {
  switch (config.activation) {
    case Activation::silu: cpu::kernels().swiglu_backward(gate_up, dy, count, config.intermediate_size); return;
    case Activation::gelu_tanh: cpu::kernels().geglu_backward(gate_up, dy, count, config.intermediate_size); return;
  }
}

}  // namespace

void embed_backward(const TransformerView& model, std::span<const std::int32_t> tokens, float* d, float* gradient) {
  if (model.adapters) return;
  const std::int64_t hidden = model.config.hidden_size;
  const float scale = embedding_scale(model.config);
  for (std::int32_t token : tokens) {
    for (std::int64_t i = 0; i < hidden; ++i) d[i] *= scale;
    cpu::kernels().add(d, hidden, gradient + model.layout.embedding + token * hidden);
    d += hidden;
  }
}

void mlp_backward(const TransformerView& model, std::int64_t layer, std::int64_t count, const float* middle,
                  const LayerRows& at, const LayerGradients& scratch, float* d, float* gradient) {
  const LayerOffsets& offsets = offsets_of(model, layer);
  const std::int64_t hidden = model.config.hidden_size, inner = model.config.intermediate_size;
  const float* dbranch = branch_backward(model, offsets.mlp_branch_norm, at.mlp_branch, at.mlp_branch_scales, d, count,
                                         scratch.branch, gradient);
  gated(model.config, at.gate_up, count, scratch.wide);
  matrix_backward(model, {offsets.down, hidden, inner, &LayerAdapters::down, layer}, dbranch, scratch.wide, count,
                  scratch.wide_gradient, gradient);
  bias_backward(model, offsets.down_bias, hidden, count, dbranch, gradient);
  gated_backward(model.config, at.gate_up, scratch.wide_gradient, count);
  norm_rows(model, offsets.mlp_norm, middle, count, scratch.normed, nullptr);
  matrix_backward(model, {offsets.gate_up, 2 * inner, hidden, &LayerAdapters::gate_up, layer}, at.gate_up,
                  scratch.normed, count, scratch.normed, gradient);
  bias_backward(model, offsets.gate_up_bias, 2 * inner, count, at.gate_up, gradient);
  norm_backward(model, offsets.mlp_norm, middle, at.mlp_scales, scratch.normed, count, d, true, gradient);
}

void attention_branch_backward(const TransformerView& model, std::int64_t layer, std::int64_t count,
                               const LayerRows& at, const LayerGradients& scratch, const float* d, float* gradient) {
  const LayerOffsets& offsets = offsets_of(model, layer);
  const std::int64_t hidden = model.config.hidden_size, queries = model.config.query_size();
  const float* dbranch = branch_backward(model, offsets.attention_branch_norm, at.attention_branch,
                                         at.attention_branch_scales, d, count, scratch.branch, gradient);
  matrix_backward(model, {offsets.output, hidden, queries, &LayerAdapters::output, layer}, dbranch, at.attended, count,
                  scratch.wide, gradient);
  bias_backward(model, offsets.output_bias, hidden, count, dbranch, gradient);
}

void project_backward(const TransformerView& model, std::int64_t layer, std::span<const std::int32_t> positions,
                      const float* input, const LayerRows& at, const LayerGradients& scratch, float* d,
                      float* gradient) {
  const ModelConfig& config = model.config;
  const LayerOffsets& offsets = offsets_of(model, layer);
  const auto count = static_cast<std::int64_t>(positions.size());
  const std::int64_t hidden = config.hidden_size, width = ProjectionColumns(config).width;
  const RotaryTable& rotary = model.rotary.of(config.slides(layer));
  float* dprojections = scratch.wide_gradient;
  cpu::kernels().rope(dprojections, width, positions.data(), count, config.heads + config.kv_heads, config.head_dim,
                      rotary.cos.data(), rotary.sin.data(), -1.0f);
  if (config.head_norms) heads_backward(model, offsets, count, at, dprojections, gradient);
  norm_rows(model, offsets.attention_norm, input, count, scratch.normed, nullptr);
  matrix_backward(model, {offsets.query_key_value, width, hidden, &LayerAdapters::query_key_value, layer}, dprojections,
                  scratch.normed, count, scratch.normed, gradient);
  bias_backward(model, offsets.query_key_value_bias, width, count, dprojections, gradient);
  norm_backward(model, offsets.attention_norm, input, at.attention_scales, scratch.normed, count, d, true, gradient);
}

}  // namespace rlflow
