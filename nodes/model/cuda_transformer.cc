// The layers of the transformer on a GPU, forward and backward.
#include "nodes/model/cuda_transformer.h"

#include <algorithm>
#include <cmath>

#include "nodes/cuda/gated.h"
#include "nodes/model/attention.h"
#include "nodes/model/layer.h"

namespace rlflow {
namespace {

// One layer of one pass, with what its steps share.
struct LayerPass {
  const CudaView& model;
  CudaWorkspace& work;
  std::int64_t index;
  float* gradient = nullptr;  // of all parameters; the backward pass's

  const ModelConfig& config = model.config;
  const LayerOffsets& offsets = model.layout.layers[static_cast<std::size_t>(index)];
  const CudaActivations::Layer& at = work.activations.layers[static_cast<std::size_t>(index)];
  const CudaChunk& chunk = work.chunk;
  std::int64_t rows = chunk.rows, hidden = config.hidden_size, inner = config.intermediate_size;
  std::int64_t queries = config.query_size(), width = ProjectionColumns(config).width;
  cuda::Element type = model.element;

  const void* bias(std::int64_t offset) const { return offset == kAbsent ? nullptr : model.at(offset); }

  cuda::NormShape norm_shape() const {
    return {type, hidden, static_cast<float>(config.rms_norm_eps), norm_offset(config)};
  }
  void norm(std::int64_t weight, const void* x, const void* added, void* y, float* scales) const {
    cuda::rms_norm(norm_shape(), x, model.at(weight), rows, nullptr, added, y, scales, work.stream);
  }
  void norm_backward(std::int64_t weight, const void* x, const float* scales, const void* dy, void* dx,
                     bool add) const {
    cuda::rms_norm_backward(norm_shape(), x, model.at(weight), scales, dy, rows, nullptr, dx, add, gradient + weight,
                            work.partials.data(), work.stream);
  }

  cuda::HeadShape head_shape() const {
    return {type,
            config.heads,
            config.kv_heads,
            config.head_dim,
            width,
            config.head_norms,
            static_cast<float>(config.rms_norm_eps),
            norm_offset(config)};
  }
  cuda::HeadRows head_rows() const {
    const CudaRotary& rotary = model.rotary(index);
    return {chunk.positions,        rotary.cos,   rotary.sin,    bias(offsets.query_norm),
            bias(offsets.key_norm), at.query_key, at.head_scales};
  }
  cuda::Gate gate() const { return config.activation == Activation::silu ? cuda::Gate::silu : cuda::Gate::gelu_tanh; }

  // sum = onto + the branch W·x + bias, normed where `norm_weight` says so.
  void add_branch(std::int64_t weight, std::int64_t bias_at, std::int64_t norm_weight, const void* x,
                  std::int64_t inputs, const void* onto, void* unnormed, float* scales, void* sum) const {
    const void* w = model.at(weight);
    if (norm_weight == kAbsent) {
      work.products.linear_onto(x, w, bias(bias_at), onto, type, rows, inputs, hidden, sum, work.stream);
      return;
    }
    work.products.linear(x, w, bias(bias_at), type, rows, inputs, hidden, unnormed, type, false, work.stream);
    norm(norm_weight, unnormed, onto, sum, scales);
  }

  // Gradient of W and of its bias, from dy [rows, outputs] and x [rows, inputs].
  void weights_backward(std::int64_t weight, std::int64_t bias_at, const void* dy, const void* x, std::int64_t inputs,
                        std::int64_t outputs) const {
    work.products.weight_gradient(dy, x, type, rows, inputs, outputs, gradient + weight, true, work.stream);
    if (bias_at == kAbsent) return;
    cuda::add_column_sums(type, dy, nullptr, rows, outputs, gradient + bias_at, work.partials.data(), work.stream);
  }
  void input_backward(std::int64_t weight, const void* dy, std::int64_t inputs, std::int64_t outputs, void* dx) const {
    work.products.input_gradient(dy, model.at(weight), type, rows, inputs, outputs, dx, type, false, work.stream);
  }

  // dL/d(branch before its norm): d itself where there is none.
  const void* branch_backward(std::int64_t norm_weight, const void* unnormed, const float* scales,
                              const void* d) const {
    if (norm_weight == kAbsent) return d;
    norm_backward(norm_weight, unnormed, scales, d, work.activations.branch, false);
    return work.activations.branch;
  }
};

void forward_layer(const LayerPass& step, void* out) {
  CudaWorkspace& work = step.work;
  const CudaActivations& all = work.activations;
  const CudaActivations::Layer& at = step.at;
  const LayerOffsets& offsets = step.offsets;
  step.norm(offsets.attention_norm, at.input, nullptr, all.normed, at.attention_scales);
  work.mark("norm");
  work.products.linear(all.normed, step.model.at(offsets.query_key_value), step.bias(offsets.query_key_value_bias),
                       step.type, step.rows, step.hidden, step.width, at.projections, step.type, false, work.stream);
  work.mark("product qkv");
  cuda::turn_heads(step.head_shape(), step.head_rows(), step.rows, at.projections, work.stream);
  work.mark("heads");
  cuda::attention(attention_shape(step.model, step.index), step.chunk.tiles, at.projections, at.attended, at.log_sums,
                  work.stream);
  work.mark("attention");
  step.add_branch(offsets.output, offsets.output_bias, offsets.attention_branch_norm, at.attended, step.queries,
                  at.input, at.attention_branch, at.attention_branch_scales, at.middle);
  work.mark("product o");
  step.norm(offsets.mlp_norm, at.middle, nullptr, all.normed, at.mlp_scales);
  work.mark("norm");
  work.products.linear(all.normed, step.model.at(offsets.gate_up), step.bias(offsets.gate_up_bias), step.type,
                       step.rows, step.hidden, 2 * step.inner, at.gate_up, step.type, false, work.stream);
  work.mark("product gate_up");
  cuda::gated(step.type, step.gate(), at.gate_up, step.rows, step.inner, all.wide, work.stream);
  work.mark("gated");
  step.add_branch(offsets.down, offsets.down_bias, offsets.mlp_branch_norm, all.wide, step.inner, at.middle,
                  at.mlp_branch, at.mlp_branch_scales, out);
  work.mark("product down");
}

void mlp_backward(const LayerPass& step) {
  CudaWorkspace& work = step.work;
  const CudaActivations& all = work.activations;
  const CudaActivations::Layer& at = step.at;
  const LayerOffsets& offsets = step.offsets;
  const void* d = step.branch_backward(offsets.mlp_branch_norm, at.mlp_branch, at.mlp_branch_scales, all.gradient);
  work.mark("norm backward");
  step.input_backward(offsets.down, d, step.inner, step.hidden, all.wide);
  work.mark("product down, input gradient");
  cuda::gated_backward(step.type, step.gate(), at.gate_up, step.rows, step.inner, all.wide, work.stream);
  work.mark("gated backward");
  step.weights_backward(offsets.down, offsets.down_bias, d, all.wide, step.inner, step.hidden);
  work.mark("product down, weight gradient");
  step.norm(offsets.mlp_norm, at.middle, nullptr, all.normed, nullptr);
  work.mark("norm");
  step.weights_backward(offsets.gate_up, offsets.gate_up_bias, at.gate_up, all.normed, step.hidden, 2 * step.inner);
  work.mark("product gate_up, weight gradient");
  step.input_backward(offsets.gate_up, at.gate_up, step.hidden, 2 * step.inner, all.normed);
  work.mark("product gate_up, input gradient");
  step.norm_backward(offsets.mlp_norm, at.middle, at.mlp_scales, all.normed, all.gradient, true);
  work.mark("norm backward");
}

void attention_branch_backward(const LayerPass& step) {
  CudaWorkspace& work = step.work;
  const CudaActivations& all = work.activations;
  const CudaActivations::Layer& at = step.at;
  const LayerOffsets& offsets = step.offsets;
  const void* d = step.branch_backward(offsets.attention_branch_norm, at.attention_branch, at.attention_branch_scales,
                                       all.gradient);
  work.mark("norm backward");
  step.weights_backward(offsets.output, offsets.output_bias, d, at.attended, step.queries, step.hidden);
  work.mark("product o, weight gradient");
  step.input_backward(offsets.output, d, step.queries, step.hidden, all.wide);
  work.mark("product o, input gradient");
  cuda::attention_backward(attention_shape(step.model, step.index), step.chunk.tiles, step.rows, at.projections,
                           at.attended, at.log_sums, all.wide, all.wide_gradient, all.deltas, work.partials.data(),
                           work.stream);
  work.mark("attention backward");
  const bool norms = step.config.head_norms;
  cuda::turn_heads_backward(step.head_shape(), step.head_rows(), step.rows, all.wide_gradient,
                            norms ? step.gradient + offsets.query_norm : nullptr,
                            norms ? step.gradient + offsets.key_norm : nullptr, work.partials.data(), work.stream);
  work.mark("heads backward");
  step.norm(offsets.attention_norm, at.input, nullptr, all.normed, nullptr);
  work.mark("norm");
  step.weights_backward(offsets.query_key_value, offsets.query_key_value_bias, all.wide_gradient, all.normed,
                        step.hidden, step.width);
  work.mark("product qkv, weight gradient");
  step.input_backward(offsets.query_key_value, all.wide_gradient, step.hidden, step.width, all.normed);
  work.mark("product qkv, input gradient");
  step.norm_backward(offsets.attention_norm, at.input, at.attention_scales, all.normed, all.gradient, true);
  work.mark("norm backward");
}

// Bytes of scratch that any sum over rows takes.
std::int64_t partial_bytes(const LayerPass& step) {
  return std::max({cuda::norm_scratch(step.hidden), cuda::column_scratch(2 * step.inner),
                   cuda::column_scratch(step.width), cuda::column_scratch(step.hidden),
                   cuda::head_scratch(step.head_shape()),
                   cuda::attention_scratch(attention_shape(step.model, 0), step.chunk.tiles, step.rows)});
}

}  // namespace

// Walks twice over the same takes: without memory, to count them, and with it.
void CudaActivations::place(const CudaView& model, Keep keep, const Take& take) {
  const ModelConfig& config = model.config;
  const std::int64_t hidden = config.hidden_size, each = cuda::bytes_of(model.element);
  const std::int64_t widest =
      std::max({config.intermediate_size, config.query_size(), ProjectionColumns(config).width});
  layers.clear();
  Layer layer;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    if (i > 0 && keep == Keep::nothing) {
      layers.push_back(layer);
      continue;
    }
    layer.input = take(hidden, each);
    layer.projections = take(ProjectionColumns(config).width, each);
    layer.attended = take(config.query_size(), each);
    layer.log_sums = static_cast<float*>(take(config.heads, 4));
    layer.gate_up = take(2 * config.intermediate_size, each);
    layer.middle = layer.input;
    if (config.branch_norms) {
      layer.attention_branch = take(hidden, each);
      layer.mlp_branch = keep == Keep::nothing ? layer.attention_branch : take(hidden, each);
    }
    if (keep == Keep::activations) {
      layer.middle = take(hidden, each);
      layer.attention_scales = static_cast<float*>(take(1, 4));
      layer.mlp_scales = static_cast<float*>(take(1, 4));
      if (config.head_norms) {
        layer.query_key = take(config.query_size() + config.kv_size(), each);
        layer.head_scales = static_cast<float*>(take(config.heads + config.kv_heads, 4));
      }
      if (config.branch_norms) {
        layer.attention_branch_scales = static_cast<float*>(take(1, 4));
        layer.mlp_branch_scales = static_cast<float*>(take(1, 4));
      }
    }
    layers.push_back(layer);
  }
  normed = take(hidden, each);
  wide = take(widest, each);
  output = layers[0].input;
  if (keep == Keep::nothing) return;
  output = take(hidden, each);
  gradient = take(hidden, each);
  wide_gradient = take(widest, each);
  deltas = static_cast<float*>(take(config.heads, 4));
  if (config.branch_norms) branch = take(hidden, each);
}

void CudaActivations::reserve(const CudaView& model, std::int64_t rows, Keep keep) {
  constexpr std::int64_t kAlignment = 256;
  auto padded = [&](std::int64_t numbers, std::int64_t each) {
    return (rows * numbers * each + kAlignment - 1) / kAlignment * kAlignment;
  };
  std::int64_t bytes = 0;
  place(model, keep, [&](std::int64_t numbers, std::int64_t each) {
    bytes += padded(numbers, each);
    return nullptr;
  });
  storage_.reserve(bytes);
  char* at = storage_.as<char>();
  place(model, keep, [&](std::int64_t numbers, std::int64_t each) {
    char* begin = at;
    at += padded(numbers, each);
    return begin;
  });
}

cuda::AttentionShape attention_shape(const CudaView& model, std::int64_t layer) {
  const ModelConfig& config = model.config;
  return {model.element,
          config.heads,
          config.kv_heads,
          config.head_dim,
          ProjectionColumns(config).width,
          config.slides(layer) ? config.window : 0,
          attention_scale(config)};
}

void forward(const CudaView& model, CudaWorkspace& workspace, Keep keep) {
  CudaActivations& activations = workspace.activations;
  const CudaChunk& chunk = workspace.chunk;
  activations.reserve(model, chunk.rows, keep);
  cuda::embed(model.element, model.at(model.layout.embedding), chunk.tokens, chunk.rows, model.config.hidden_size,
              embedding_scale(model.config), activations.layers[0].input, workspace.stream);
  workspace.mark("embedding");
  for (std::int64_t i = 0; i < model.config.layers; ++i) {
    const bool last = i + 1 == model.config.layers;
    forward_layer({model, workspace, i},
                  last ? activations.output : activations.layers[static_cast<std::size_t>(i) + 1].input);
  }
}

void backward(const CudaView& model, CudaWorkspace& workspace, float* gradient) {
  workspace.partials.reserve(partial_bytes({model, workspace, 0}));
  for (std::int64_t i = model.config.layers; i-- > 0;) {
    const LayerPass step{model, workspace, i, gradient};
    mlp_backward(step);
    attention_branch_backward(step);
  }
  cuda::embed_backward(model.element, workspace.activations.gradient, workspace.chunk.token_groups,
                       model.config.hidden_size, embedding_scale(model.config), gradient + model.layout.embedding,
                       workspace.stream);
  workspace.mark("embedding backward");
}

}  // namespace rlflow
