// The arithmetic of one lane: tokens of several sequences through the transformer, keys and values into their blocks.
#include "nodes/rollout/decode_lane.h"

#include <algorithm>

#include "nodes/model/attention.h"
#include "nodes/model/cpu/kernels.h"
#include "nodes/model/layer.h"
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
  if (config.branch_norms) grow(branch_, count * config.hidden_size);
  positions_.clear();
  tokens_.clear();
  for (const StepRow& row : rows) {
    positions_.push_back(row.position);
    tokens_.push_back(row.token);
  }
  rlflow::embed(model, tokens_, hidden_.data());
}

void DecodeLane::decode(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows,
                        std::int32_t threads) {
  embed(model, rows);
  if (scores_.size() < static_cast<std::size_t>(threads)) scores_.resize(static_cast<std::size_t>(threads));
  team_.run(threads, [&](const Team::Member& member) { decode_part(model.with_member(member), layout, rows); });
}

void DecodeLane::decode_part(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const LayerRows at{.projections = projections_.data(),
                     .attended = attended_.data(),
                     .attention_branch = branch_.data(),
                     .gate_up = gate_up_.data(),
                     .mlp_branch = branch_.data()};
  for (std::int64_t i = 0; i < model.config.layers; ++i) {
    project(model, i, positions_, hidden_.data(), at, normed_.data());
    attend(model, layout, rows, i);
    add_attention(model, i, count, at, normed_.data(), hidden_.data());
    add_mlp(model, i, count, hidden_.data(), at, normed_.data(), wide_.data(), hidden_.data());
  }
}

// Each thread has some of the heads of keys and values, with the heads of queries that belong to them.
void DecodeLane::attend(const TransformerView& model, const KvLayout& layout, std::span<const StepRow> rows,
                        std::int64_t layer) {
  const ModelConfig& config = model.config;
  const Team::Member& member = *model.member;
  const std::int64_t width = ProjectionColumns(config).width, repeats = config.heads / config.kv_heads;
  std::vector<float>& scores = scores_[static_cast<std::size_t>(member.index)];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StepRow& step = rows[i];
    const float* row = projections_.data() + static_cast<std::int64_t>(i) * width;
    float* out = attended_.data() + static_cast<std::int64_t>(i) * config.query_size();
    for (std::int64_t kv_head = member.first(config.kv_heads); kv_head < member.last(config.kv_heads); ++kv_head) {
      step.own->store(layout, config, layer, kv_head, step.at, row);
      cpu::PagedAttention attention{
          step.prefix ? step.prefix->span(layout, layer, kv_head, step.prefix->cached) : cpu::PagedSpan{},
          step.own->span(layout, layer, kv_head, step.at + 1),
          step.at + 1,
          config.head_dim,
          attention_scale(config),
          nullptr};
      limit_to_window(config, layer, attention);
      grow(scores, cpu::padded(attention.shared.length) + cpu::padded(attention.own.length));
      attention.scores = scores.data();
      for (std::int64_t head = kv_head * repeats; head < (kv_head + 1) * repeats; ++head) {
        cpu::kernels().attend_paged(attention, row + head * config.head_dim, out + head * config.head_dim);
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
  norm_rows(model, model.layout.final_norm, last_.data(), count, last_normed_.data(), nullptr);
  const ForwardPanels::Matrix& head = model.panels.head();
  const std::int64_t panels = (head.rows + cpu::kLanes - 1) / cpu::kLanes;
  team_.run(threads, [&](const Team::Member& member) {
    linear_panels(model.panels, head, member.first(panels), member.last(panels), last_normed_.data(), count,
                  logits_.data(), false);
  });
  return logits_.data();
}

}  // namespace rlflow
