// The arithmetic of one lane: tokens of several sequences through the transformer, keys and values into their blocks.
#include "nodes/rollout/decode_lane.h"

#include <algorithm>
#include <cmath>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/linear.h"

namespace rlflow {
namespace {

void grow(std::vector<float>& buffer, std::int64_t size) {
  if (static_cast<std::int64_t>(buffer.size()) < size) buffer.resize(static_cast<std::size_t>(size));
}

}  // namespace

void DecodeLane::embed(const TransformerView& model, std::span<const StepRow> rows) {
  const ModelConfig& config = model.config;
  const auto count = static_cast<std::int64_t>(rows.size());
  for (auto [buffer, width] :
       {std::pair(&hidden_, config.hidden_size), std::pair(&normed_, config.hidden_size),
        std::pair(&projections_, ProjectionColumns(config).width), std::pair(&attended_, config.query_size()),
        std::pair(&gate_up_, 2 * config.intermediate_size), std::pair(&wide_, config.intermediate_size)}) {
    grow(*buffer, count * width);
  }
  positions_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    positions_.push_back(rows[i].position);
    std::copy_n(model.parameters + model.layout.embedding + rows[i].token * config.hidden_size, config.hidden_size,
                hidden_.data() + static_cast<std::int64_t>(i) * config.hidden_size);
  }
}

void DecodeLane::decode(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows) {
  const ModelConfig& config = model.config;
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto eps = static_cast<float>(config.rms_norm_eps);
  embed(model, rows);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const LayerOffsets& offsets = model.layout.layers[static_cast<std::size_t>(i)];
    const ForwardPanels::Layer& panels = model.panels.layer(i);
    cpu::kernels().rms_norm(hidden_.data(), model.parameters + offsets.attention_norm, count, config.hidden_size, eps,
                            normed_.data(), nullptr);
    linear(model.panels, panels.query_key_value, normed_.data(), count, projections_.data(), false);
    cpu::kernels().rope(projections_.data(), ProjectionColumns(config).width, positions_.data(), count,
                        config.heads + config.kv_heads, config.head_dim, model.rotary.cos.data(),
                        model.rotary.sin.data(), 1.0f);
    attend(model, layout, rows, i);
    linear(model.panels, panels.output, attended_.data(), count, hidden_.data(), true);
    cpu::kernels().rms_norm(hidden_.data(), model.parameters + offsets.mlp_norm, count, config.hidden_size, eps,
                            normed_.data(), nullptr);
    linear(model.panels, panels.gate_up, normed_.data(), count, gate_up_.data(), false);
    cpu::kernels().swiglu(gate_up_.data(), count, config.intermediate_size, wide_.data());
    linear(model.panels, panels.down, wide_.data(), count, hidden_.data(), true);
  }
}

void DecodeLane::attend(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows,
                        std::int64_t layer) {
  const ModelConfig& config = model.config;
  const std::int64_t projected = ProjectionColumns(config).width, repeats = config.heads / config.kv_heads;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StepRow& step = rows[i];
    const float* row = projections_.data() + static_cast<std::int64_t>(i) * projected;
    float* out = attended_.data() + static_cast<std::int64_t>(i) * config.query_size();
    step.own->store(layout, config, layer, step.at, row);
    for (std::int64_t kv_head = 0; kv_head < config.kv_heads; ++kv_head) {
      cpu::PagedAttention attention{
          step.prefix ? step.prefix->span(layout, layer, kv_head, step.prefix->cached) : cpu::PagedSpan{},
          step.own->span(layout, layer, kv_head, step.at + 1),
          step.at + 1,
          config.head_dim,
          1.0f / std::sqrt(static_cast<float>(config.head_dim)),
          nullptr};
      grow(scores_, cpu::padded(attention.shared.length) + cpu::padded(attention.own.length));
      attention.scores = scores_.data();
      for (std::int64_t head = kv_head * repeats; head < (kv_head + 1) * repeats; ++head) {
        cpu::kernels().attend_paged(attention, row + head * config.head_dim, out + head * config.head_dim);
      }
    }
  }
}

float* DecodeLane::logits_after(const TransformerView& model, std::span<const std::int64_t> rows) {
  const std::int64_t hidden = model.config.hidden_size;
  const auto count = static_cast<std::int64_t>(rows.size());
  grow(last_, count * hidden);
  grow(last_normed_, count * hidden);
  grow(logits_, count * model.config.vocab_size);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(hidden_.data() + rows[i] * hidden, hidden, last_.data() + static_cast<std::int64_t>(i) * hidden);
  }
  logits(model, last_.data(), count, last_normed_.data(), nullptr, logits_.data());
  return logits_.data();
}

}  // namespace rlflow
