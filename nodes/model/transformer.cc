// The layers of the transformer, forward and backward.
#include "nodes/model/transformer.h"

#include <algorithm>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/layer.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

std::int64_t widest(const ModelConfig& config) {
  return std::max({config.intermediate_size, config.query_size(), ProjectionColumns(config).width});
}

void forward_layer(const TransformerView& model, std::int64_t index, const PackedRows& rows, Activations& activations,
                   float* out) {
  const Activations::Layer& at = activations.layer(index);
  const std::int64_t count = rows.size(), hidden = model.config.hidden_size;
  project(model, index, rows.positions, at.input, at, activations.normed());
  attention(model.config, index, rows, at.projections, at.attended, at.log_sums, activations.attention());
  if (at.middle != at.input) std::copy_n(at.input, count * hidden, at.middle);
  add_attention(model, index, count, at, activations.normed(), at.middle);
  if (out != at.middle) std::copy_n(at.middle, count * hidden, out);
  add_mlp(model, index, count, at.middle, at, activations.normed(), activations.wide(), out);
}

float* output_of(const TransformerView& model, const Activations& activations, std::int64_t layer) {
  return layer + 1 < model.config.layers ? activations.layer(layer + 1).input : activations.output();
}

// activations.gradient() holds dL/d(output of the layer) and gets dL/d(input of the layer).
void backward_layer(const TransformerView& model, std::int64_t index, const PackedRows& rows, Activations& activations,
                    float* gradient) {
  const Activations::Layer& at = activations.layer(index);
  const LayerGradients scratch = activations.gradients();
  const std::int64_t count = rows.size();
  float* d = activations.gradient();
  mlp_backward(model, index, count, at.middle, at, scratch, d, gradient);
  attention_branch_backward(model, index, count, at, scratch, d, gradient);
  attention_backward(model.config, index, rows, at.projections, at.attended, at.log_sums, scratch.wide,
                     scratch.wide_gradient, activations.attention());
  project_backward(model, index, rows.positions, at.input, at, scratch, d, gradient);
}

}  // namespace

// Walks twice over the same takes: without memory, to count them, and with it.
void Activations::place(const ModelConfig& config, Use use, const Take& take) {
  const std::int64_t hidden = config.hidden_size;
  const bool training = use != Use::reading;
  const auto take_for_training = [&](std::int64_t width) { return training ? take(width) : nullptr; };
  layers_.clear();
  for (std::int64_t i = 0; i < (training ? config.layers : 1); ++i) {
    if (use == Use::recomputing && i > 0) {
      layers_.push_back(layers_.front());
      layers_.back().input = take(hidden);
      continue;
    }
    Layer layer;
    layer.input = take(hidden);
    layer.attention_scales = take_for_training(1);
    if (config.head_norms) {
      layer.query_key = take_for_training(config.query_size() + config.kv_size());
      layer.head_scales = take_for_training(config.heads + config.kv_heads);
    }
    layer.projections = take(ProjectionColumns(config).width);
    layer.attended = take(config.query_size());
    layer.log_sums = take_for_training(config.heads);
    layer.middle = training ? take(hidden) : layer.input;
    layer.mlp_scales = take_for_training(1);
    layer.gate_up = take(2 * config.intermediate_size);
    if (config.branch_norms) {
      layer.attention_branch = take(hidden);
      layer.attention_branch_scales = take_for_training(1);
      layer.mlp_branch = take(hidden);
      layer.mlp_branch_scales = take_for_training(1);
    }
    layers_.push_back(layer);
  }
  output_ = training ? take(hidden) : layers_.front().input;
  normed_ = take(hidden);
  wide_ = take(widest(config));
  gradient_ = take_for_training(hidden);
  wide_gradient_ = take_for_training(widest(config));
  branch_ = config.branch_norms ? take_for_training(hidden) : nullptr;
}

void Activations::reserve(const TransformerView& model, std::int64_t rows, Use use) {
  use_ = use;
  std::int64_t width = 0;
  place(model.config, use, [&](std::int64_t floats) {
    width += floats;
    return nullptr;
  });
  if (rows * width > capacity_) {
    storage_ = at::Tensor();  // before the larger one is taken
    storage_ = make_floats(rows * width);
    capacity_ = rows * width;
  }
  float* at = floats(storage_);
  place(model.config, use, [&](std::int64_t floats_a_row) {
    float* begin = at;
    at += rows * floats_a_row;
    return begin;
  });
  attention_.resize(static_cast<std::size_t>(model.threads));
}

void forward(const TransformerView& model, const PackedRows& rows, Activations& activations, Activations::Use use) {
  activations.reserve(model, rows.size(), use);
  for (std::int32_t position : rows.positions) {
    RLFLOW_CHECK(position < model.config.max_positions, "position out of range");
  }
  embed(model, rows.tokens, activations.layer(0).input);
  for (std::int64_t i = 0; i < model.config.layers; ++i) {
    forward_layer(model, i, rows, activations, output_of(model, activations, i));
  }
}

void backward(const TransformerView& model, const PackedRows& rows, Activations& activations, float* gradient) {
  for (std::int64_t i = model.config.layers; i-- > 0;) {
    // What the last layer left is still there. The others write the bits anew that their outputs hold.
    const bool again = activations.recomputes() && i + 1 < model.config.layers;
    if (again) forward_layer(model, i, rows, activations, output_of(model, activations, i));
    backward_layer(model, i, rows, activations, gradient);
  }
  embed_backward(model, rows.tokens, activations.gradient(), gradient);
}

}  // namespace rlflow
