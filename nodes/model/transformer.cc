// The layers of the Llama transformer, forward and backward.
#include "nodes/model/transformer.h"

#include <algorithm>
#include <cmath>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/linear.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// Floats of one row in one layer's activations, in the order of Activations::Layer.
std::int64_t row_floats(const ModelConfig& config) {
  return 2 * config.hidden_size + 2 + ProjectionColumns(config).width + config.query_size() + config.heads +
         2 * config.intermediate_size;
}

std::int64_t widest(const ModelConfig& config) {
  return std::max({config.intermediate_size, config.query_size(), ProjectionColumns(config).width});
}

void rotate(const TransformerView& model, const PackedRows& rows, float* projections, float direction) {
  const ModelConfig& config = model.config;
  // Queries and keys adjoin, so their heads are rotated together.
  cpu::kernels().rope(projections, ProjectionColumns(config).width, rows.positions.data(), rows.size(),
                      config.heads + config.kv_heads, config.head_dim, model.rotary.cos.data(), model.rotary.sin.data(),
                      direction);
}

void embed(const TransformerView& model, const PackedRows& rows, float* out) {
  const std::int64_t hidden = model.config.hidden_size;
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    const std::int32_t token = rows.tokens[static_cast<std::size_t>(row)];
    RLFLOW_CHECK(token >= 0 && token < model.config.vocab_size, std::to_string(token));
    RLFLOW_CHECK(rows.positions[static_cast<std::size_t>(row)] < model.config.max_positions, "position out of range");
    std::copy_n(model.parameters + model.layout.embedding + token * hidden, hidden, out + row * hidden);
  }
}

void forward_layer(const TransformerView& model, std::int64_t index, const PackedRows& rows, Activations& activations,
                   float* out) {
  const ModelConfig& config = model.config;
  const Activations::Layer& at = activations.layer(index);
  const LayerOffsets& offsets = model.layout.layers[static_cast<std::size_t>(index)];
  const ForwardPanels::Layer& panels = model.panels.layer(index);
  const auto eps = static_cast<float>(config.rms_norm_eps);
  const std::int64_t count = rows.size(), hidden = config.hidden_size;
  float* normed = activations.normed();

  cpu::kernels().rms_norm(at.input, model.parameters + offsets.attention_norm, count, hidden, eps, normed,
                          at.attention_scales);
  linear(model.panels, panels.query_key_value, normed, count, at.projections, false);
  rotate(model, rows, at.projections, 1.0f);
  attention(config, rows, at.projections, at.attended, at.log_sums, activations.attention);
  std::copy_n(at.input, count * hidden, at.middle);
  linear(model.panels, panels.output, at.attended, count, at.middle, true);

  cpu::kernels().rms_norm(at.middle, model.parameters + offsets.mlp_norm, count, hidden, eps, normed, at.mlp_scales);
  linear(model.panels, panels.gate_up, normed, count, at.gate_up, false);
  cpu::kernels().swiglu(at.gate_up, count, config.intermediate_size, activations.wide());
  std::copy_n(at.middle, count * hidden, out);
  linear(model.panels, panels.down, activations.wide(), count, out, true);
}

// activations.gradient() holds dL/d(output of the layer) and gets dL/d(input of the layer).
void backward_layer(const TransformerView& model, std::int64_t index, const PackedRows& rows, Activations& activations,
                    float* gradient) {
  const ModelConfig& config = model.config;
  const Activations::Layer& at = activations.layer(index);
  const LayerOffsets& offsets = model.layout.layers[static_cast<std::size_t>(index)];
  const float* p = model.parameters;
  const auto eps = static_cast<float>(config.rms_norm_eps);
  const std::int64_t count = rows.size(), hidden = config.hidden_size, inner = config.intermediate_size;
  const std::int64_t projected = ProjectionColumns(config).width;
  float *d = activations.gradient(), *normed = activations.normed(), *wide = activations.wide();
  float* dwide = activations.wide_gradient();

  cpu::kernels().swiglu(at.gate_up, count, inner, wide);
  linear_weight_gradient(d, hidden, wide, inner, count, gradient + offsets.down);
  linear_input_gradient(p + offsets.down, hidden, inner, d, count, dwide, false);
  cpu::kernels().swiglu_backward(at.gate_up, dwide, count, inner);
  cpu::kernels().rms_norm(at.middle, p + offsets.mlp_norm, count, hidden, eps, normed, nullptr);
  linear_weight_gradient(at.gate_up, 2 * inner, normed, hidden, count, gradient + offsets.gate_up);
  linear_input_gradient(p + offsets.gate_up, 2 * inner, hidden, at.gate_up, count, normed, false);
  cpu::kernels().rms_norm_backward(at.middle, p + offsets.mlp_norm, at.mlp_scales, normed, count, hidden, d, true,
                                   gradient + offsets.mlp_norm);

  linear_weight_gradient(d, hidden, at.attended, config.query_size(), count, gradient + offsets.output);
  linear_input_gradient(p + offsets.output, hidden, config.query_size(), d, count, wide, false);
  attention_backward(config, rows, at.projections, at.attended, at.log_sums, wide, dwide, activations.attention);
  rotate(model, rows, dwide, -1.0f);
  cpu::kernels().rms_norm(at.input, p + offsets.attention_norm, count, hidden, eps, normed, nullptr);
  linear_weight_gradient(dwide, projected, normed, hidden, count, gradient + offsets.query_key_value);
  linear_input_gradient(p + offsets.query_key_value, projected, hidden, dwide, count, normed, false);
  cpu::kernels().rms_norm_backward(at.input, p + offsets.attention_norm, at.attention_scales, normed, count, hidden, d,
                                   true, gradient + offsets.attention_norm);
}

}  // namespace

RotaryTable::RotaryTable(const ModelConfig& config) {
  const std::int64_t half = config.head_dim / 2;
  for (std::int64_t position = 0; position < config.max_positions; ++position) {
    for (std::int64_t i = 0; i < half; ++i) {
      // f32 throughout, as the reference implementation does.
      const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.head_dim);
      const float frequency = 1.0f / std::pow(static_cast<float>(config.rope_theta), exponent);
      const float angle = static_cast<float>(position) * frequency;
      cos.push_back(std::cos(angle));
      sin.push_back(std::sin(angle));
    }
  }
}

void Activations::reserve(const ModelConfig& config, std::int64_t rows) {
  if (rows > capacity_) {
    capacity_ = rows;
    storage_ = make_floats(rows * (config.layers * row_floats(config) + 3 * config.hidden_size + 2 * widest(config)));
  }
  float* at = floats(storage_);
  auto take = [&](std::int64_t width) {
    float* begin = at;
    at += capacity_ * width;
    return begin;
  };
  layers_.clear();
  for (std::int64_t i = 0; i < config.layers; ++i) {
    Layer layer{};
    layer.input = take(config.hidden_size);
    layer.attention_scales = take(1);
    layer.projections = take(ProjectionColumns(config).width);
    layer.attended = take(config.query_size());
    layer.log_sums = take(config.heads);
    layer.middle = take(config.hidden_size);
    layer.mlp_scales = take(1);
    layer.gate_up = take(2 * config.intermediate_size);
    layers_.push_back(layer);
  }
  output_ = take(config.hidden_size);
  normed_ = take(config.hidden_size);
  gradient_ = take(config.hidden_size);
  wide_ = take(widest(config));
  wide_gradient_ = take(widest(config));
}

void forward(const TransformerView& model, const PackedRows& rows, Activations& activations) {
  activations.reserve(model.config, rows.size());
  embed(model, rows, activations.layer(0).input);
  for (std::int64_t i = 0; i < model.config.layers; ++i) {
    float* out = i + 1 < model.config.layers ? activations.layer(i + 1).input : activations.output();
    forward_layer(model, i, rows, activations, out);
  }
}

void backward(const TransformerView& model, const PackedRows& rows, Activations& activations, float* gradient) {
  for (std::int64_t i = model.config.layers; i-- > 0;) backward_layer(model, i, rows, activations, gradient);
  const std::int64_t hidden = model.config.hidden_size;
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    cpu::kernels().add(activations.gradient() + row * hidden, hidden,
                       gradient + model.layout.embedding + rows.tokens[static_cast<std::size_t>(row)] * hidden);
  }
}

}  // namespace rlflow
