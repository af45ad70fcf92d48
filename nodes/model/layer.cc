// The arithmetic of one layer over rows, forward.
#include "nodes/model/layer.h"

#include <algorithm>
#include <cmath>

#include "nodes/model/attention.h"
#include "nodes/model/cpu/kernels.h"
#include "nodes/model/linear.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

const LayerOffsets& offsets_of(const TransformerView& model, std::int64_t layer) {
  return model.layout.layers[static_cast<std::size_t>(layer)];
}

// The rows of `count` that this thread computes: all, or its share where a team makes the call.
struct RowShare {
  RowShare(const TransformerView& model, std::int64_t count)
      : first(model.member ? model.member->first(count) : 0), last(model.member ? model.member->last(count) : count) {}
  std::int64_t count() const { return last - first; }
  const std::int64_t first, last;
};

// What the others of a team computed is read after this.
void meet(const TransformerView& model) {
  if (model.member) model.member->wait();
}

// y f32[count, outputs] (+)= x·Wᵀ; a team shares the columns.
void multiply(const TransformerView& model, const ForwardPanels::Matrix& w, const float* x, std::int64_t count,
              float* y, bool add) {
  if (!model.member) return linear(model.panels, w, x, count, y, add, model.threads);
  const std::int64_t panels = (w.rows + cpu::kLanes - 1) / cpu::kLanes;
  linear_panels(model.panels, w, model.member->first(panels), model.member->last(panels), x, count, y, add);
  meet(model);
}

// y f32[count, size] += the bias at `offset`, in every row.
void add_bias(const TransformerView& model, std::int64_t offset, std::int64_t size, std::int64_t count, float* y) {
  if (offset == kAbsent) return;
  const RowShare rows(model, count);
  for (std::int64_t row = rows.first; row < rows.last; ++row)
    cpu::kernels().add(model.parameters + offset, size, y + row * size);
}

// Normalises the query and key heads of each row in place.
void norm_heads(const TransformerView& model, const LayerOffsets& offsets, std::int64_t count, const LayerRows& at) {
  const ModelConfig& config = model.config;
  const ProjectionColumns columns(config);
  const auto eps = static_cast<float>(config.rms_norm_eps);
  const float offset = norm_offset(config);
  const RowShare rows(model, count);
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    float* heads = at.projections + row * columns.width;
    float* scales = at.head_scales ? at.head_scales + row * (config.heads + config.kv_heads) : nullptr;
    if (at.query_key) std::copy_n(heads, columns.value, at.query_key + row * columns.value);
    cpu::kernels().rms_norm(heads, model.parameters + offsets.query_norm, offset, config.heads, config.head_dim, eps,
                            heads, scales);
    cpu::kernels().rms_norm(heads + columns.key, model.parameters + offsets.key_norm, offset, config.kv_heads,
                            config.head_dim, eps, heads + columns.key, scales ? scales + config.heads : nullptr);
  }
}

// What a branch adds to the residual stream: W·x + bias, normed where `norm` says so.
struct Branch {
  const ForwardPanels::Matrix& w;
  std::int64_t bias, norm;
  float* unnormed;  // f32[count, hidden], where there is a norm
  float* scales;
};

void add_branch(const TransformerView& model, const Branch& branch, const float* x, std::int64_t count, float* normed,
                float* sum) {
  const std::int64_t hidden = model.config.hidden_size;
  if (branch.norm == kAbsent) {
    multiply(model, branch.w, x, count, sum, true);
    add_bias(model, branch.bias, hidden, count, sum);
    return;
  }
  multiply(model, branch.w, x, count, branch.unnormed, false);
  add_bias(model, branch.bias, hidden, count, branch.unnormed);
  norm_rows(model, branch.norm, branch.unnormed, count, normed, branch.scales);
  const RowShare rows(model, count);
  cpu::kernels().add(normed + rows.first * hidden, rows.count() * hidden, sum + rows.first * hidden);
}

}  // namespace

float embedding_scale(const ModelConfig& config) {
  return config.scaled_embedding ? static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size))) : 1.0f;
}

void norm_rows(const TransformerView& model, std::int64_t weight, const float* x, std::int64_t count, float* y,
               float* scales) {
  const std::int64_t hidden = model.config.hidden_size;
  const RowShare rows(model, count);
  cpu::kernels().rms_norm(x + rows.first * hidden, model.parameters + weight, norm_offset(model.config), rows.count(),
                          hidden, static_cast<float>(model.config.rms_norm_eps), y + rows.first * hidden,
                          scales ? scales + rows.first : nullptr);
  meet(model);
}

void embed(const TransformerView& model, std::span<const std::int32_t> tokens, float* out) {
  const std::int64_t hidden = model.config.hidden_size;
  const float scale = embedding_scale(model.config);
  for (std::int32_t token : tokens) {
    RLFLOW_CHECK(token >= 0 && token < model.config.vocab_size, std::to_string(token));
    const float* row = model.parameters + model.layout.embedding + token * hidden;
    for (std::int64_t i = 0; i < hidden; ++i) out[i] = row[i] * scale;
    out += hidden;
  }
}

void project(const TransformerView& model, std::int64_t layer, std::span<const std::int32_t> positions,
             const float* input, const LayerRows& at, float* normed) {
  const ModelConfig& config = model.config;
  const LayerOffsets& offsets = offsets_of(model, layer);
  const auto count = static_cast<std::int64_t>(positions.size());
  const std::int64_t width = ProjectionColumns(config).width;
  norm_rows(model, offsets.attention_norm, input, count, normed, at.attention_scales);
  multiply(model, model.panels.layer(layer).query_key_value, normed, count, at.projections, false);
  add_bias(model, offsets.query_key_value_bias, width, count, at.projections);
  if (config.head_norms) norm_heads(model, offsets, count, at);
  const RotaryTable& rotary = model.rotary.of(config.slides(layer));
  // Queries and keys adjoin, so their heads are rotated together.
  const RowShare rows(model, count);
  cpu::kernels().rope(at.projections + rows.first * width, width, positions.data() + rows.first, rows.count(),
                      config.heads + config.kv_heads, config.head_dim, rotary.cos.data(), rotary.sin.data(), 1.0f);
  meet(model);
}

void add_attention(const TransformerView& model, std::int64_t layer, std::int64_t count, const LayerRows& at,
                   float* normed, float* sum) {
  const LayerOffsets& offsets = offsets_of(model, layer);
  const Branch branch{model.panels.layer(layer).output, offsets.output_bias, offsets.attention_branch_norm,
                      at.attention_branch, at.attention_branch_scales};
  add_branch(model, branch, at.attended, count, normed, sum);
}

void add_mlp(const TransformerView& model, std::int64_t layer, std::int64_t count, const float* middle,
             const LayerRows& at, float* normed, float* wide, float* sum) {
  const ModelConfig& config = model.config;
  const LayerOffsets& offsets = offsets_of(model, layer);
  norm_rows(model, offsets.mlp_norm, middle, count, normed, at.mlp_scales);
  multiply(model, model.panels.layer(layer).gate_up, normed, count, at.gate_up, false);
  add_bias(model, offsets.gate_up_bias, 2 * config.intermediate_size, count, at.gate_up);
  const RowShare rows(model, count);
  const std::int64_t inner = config.intermediate_size;
  gated(config, at.gate_up + rows.first * 2 * inner, rows.count(), wide + rows.first * inner);
  meet(model);
  const Branch branch{model.panels.layer(layer).down, offsets.down_bias, offsets.mlp_branch_norm, at.mlp_branch,
                      at.mlp_branch_scales};
  add_branch(model, branch, wide, count, normed, sum);
}

void gated(const ModelConfig& config, const float* gate_up, std::int64_t count, float* y) {
  switch (config.activation) {
    case Activation::silu: cpu::kernels().swiglu(gate_up, count, config.intermediate_size, y); return;
    case Activation::gelu_tanh: cpu::kernels().geglu(gate_up, count, config.intermediate_size, y); return;
  }
}

}  // namespace rlflow
