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

void DecodeLane::decode(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows,
                        std::int32_t threads) {
  embed(model, rows);
  if (scores_.size() < static_cast<std::size_t>(threads)) scores_.resize(static_cast<std::size_t>(threads));
  team_.run(threads, [&](const Team::Member& member) { decode_part(model, layout, rows, member); });
}

void DecodeLane::decode_part(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows,
                             const Team::Member& member) {
  const ModelConfig& config = model.config;
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto eps = static_cast<float>(config.rms_norm_eps);
  const std::int64_t hidden = config.hidden_size, inner = config.intermediate_size;
  const std::int64_t first = member.first(count), mine = member.last(count) - first;
  const auto norm = [&](std::int64_t weight) {
    cpu::kernels().rms_norm(hidden_.data() + first * hidden, model.parameters + weight, mine, hidden, eps,
                            normed_.data() + first * hidden, nullptr);
    member.wait();
  };
  const auto product = [&](const ForwardPanels::Matrix& w, const float* x, float* y, bool add) {
    const std::int64_t panels = (w.rows + cpu::kLanes - 1) / cpu::kLanes;
    linear_panels(model.panels, w, member.first(panels), member.last(panels), x, count, y, add);
    member.wait();
  };
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const LayerOffsets& offsets = model.layout.layers[static_cast<std::size_t>(i)];
    const ForwardPanels::Layer& panels = model.panels.layer(i);
    norm(offsets.attention_norm);
    product(panels.query_key_value, normed_.data(), projections_.data(), false);
    attend(model, layout, rows, i, member);
    product(panels.output, attended_.data(), hidden_.data(), true);
    norm(offsets.mlp_norm);
    product(panels.gate_up, normed_.data(), gate_up_.data(), false);
    cpu::kernels().swiglu(gate_up_.data() + first * 2 * inner, mine, inner, wide_.data() + first * inner);
    member.wait();
    product(panels.down, wide_.data(), hidden_.data(), true);
  }
}

// Each thread has some of the heads of keys and values, with the heads of queries that belong to them.
void DecodeLane::attend(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows,
                        std::int64_t layer, const Team::Member& member) {
  const ModelConfig& config = model.config;
  const ProjectionColumns columns(config);
  const std::int64_t repeats = config.heads / config.kv_heads, dim = config.head_dim;
  const std::int64_t first = member.first(config.kv_heads), last = member.last(config.kv_heads);
  std::vector<float>& scores = scores_[static_cast<std::size_t>(member.index)];
  const auto rotate = [&](std::int64_t begin, std::int64_t heads) {
    cpu::kernels().rope(projections_.data() + begin, columns.width, positions_.data(),
                        static_cast<std::int64_t>(rows.size()), heads, dim, model.rotary.cos.data(),
                        model.rotary.sin.data(), 1.0f);
  };
  rotate(first * repeats * dim, (last - first) * repeats);
  rotate(columns.key + first * dim, last - first);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StepRow& step = rows[i];
    const float* row = projections_.data() + static_cast<std::int64_t>(i) * columns.width;
    float* out = attended_.data() + static_cast<std::int64_t>(i) * config.query_size();
    for (std::int64_t kv_head = first; kv_head < last; ++kv_head) {
      step.own->store(layout, config, layer, kv_head, step.at, row);
      cpu::PagedAttention attention{
          step.prefix ? step.prefix->span(layout, layer, kv_head, step.prefix->cached) : cpu::PagedSpan{},
          step.own->span(layout, layer, kv_head, step.at + 1),
          step.at + 1,
          dim,
          1.0f / std::sqrt(static_cast<float>(dim)),
          nullptr};
      grow(scores, cpu::padded(attention.shared.length) + cpu::padded(attention.own.length));
      attention.scores = scores.data();
      for (std::int64_t head = kv_head * repeats; head < (kv_head + 1) * repeats; ++head) {
        cpu::kernels().attend_paged(attention, row + head * dim, out + head * dim);
      }
    }
  }
  member.wait();
}

float* DecodeLane::logits_after(const TransformerView& model, std::span<const std::int64_t> rows,
                                std::int32_t threads) {
  const std::int64_t hidden = model.config.hidden_size;
  const auto count = static_cast<std::int64_t>(rows.size());
  grow(last_, count * hidden);
  grow(last_normed_, count * hidden);
  grow(logits_, count * model.config.vocab_size);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(hidden_.data() + rows[i] * hidden, hidden, last_.data() + static_cast<std::int64_t>(i) * hidden);
  }
  cpu::kernels().rms_norm(last_.data(), model.parameters + model.layout.final_norm, count, hidden,
                          static_cast<float>(model.config.rms_norm_eps), last_normed_.data(), nullptr);
  const ForwardPanels::Matrix& head = model.panels.head();
  const std::int64_t panels = (head.rows + cpu::kLanes - 1) / cpu::kLanes;
  team_.run(threads, [&](const Team::Member& member) {
    linear_panels(model.panels, head, member.first(panels), member.last(panels), last_normed_.data(), count,
                  logits_.data(), false);
  });
  return logits_.data();
}

}  // namespace rlflow
