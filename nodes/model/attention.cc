// Attention over packed rows, and the layout of keys and values that it shares with the KV cache.
#include "nodes/model/attention.h"

#include <algorithm>
#include <cmath>

#include "nodes/model/lanes.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

using cpu::padded;

void grow(std::vector<float>& buffer, std::int64_t size) {
  if (static_cast<std::int64_t>(buffer.size()) < size) buffer.resize(static_cast<std::size_t>(size));
}

using Path = AttentionScratch::Path;

// What is the same for all heads and segments of one pass.
struct Pass {
  const ModelConfig& config;
  const PackedRows& rows;
  const float* projections;
  ProjectionColumns columns;
  std::int64_t head_dim, repeats;
  float scale;

  Pass(const ModelConfig& c, const PackedRows& r, const float* p)
      : config(c),
        rows(r),
        projections(p),
        columns(c),
        head_dim(c.head_dim),
        repeats(c.heads / c.kv_heads),
        scale(attention_scale(c)) {}

  const float* key_rows(const Segment& segment, std::int64_t kv_head) const {
    return projections + segment.begin * columns.width + columns.key + kv_head * head_dim;
  }
  const float* value_rows(const Segment& segment, std::int64_t kv_head) const {
    return projections + segment.begin * columns.width + columns.value + kv_head * head_dim;
  }
};

void grow_path(const Pass& pass, std::int64_t length, bool with_gradients, Path& path) {
  const std::int64_t rows = length * padded(pass.head_dim), columns = padded(length) * pass.head_dim;
  grow(path.keys, columns);
  grow(path.values, rows);
  if (!with_gradients) return;
  for (auto* buffer : {&path.key_rows, &path.dkeys, &path.dvalues}) grow(*buffer, rows);
  grow(path.value_columns, columns);
}

// Appends the keys and values of a segment.
void push(const Pass& pass, std::int32_t index, std::int64_t kv_head, bool with_gradients, Path& path) {
  const Segment& segment = pass.rows.segments[static_cast<std::size_t>(index)];
  const std::int64_t stride = padded(pass.head_dim), at = path.length;
  const float *keys = pass.key_rows(segment, kv_head), *values = pass.value_rows(segment, kv_head);
  grow_path(pass, at + segment.length, with_gradients, path);
  copy_transposed(keys, pass.columns.width, segment.length, pass.head_dim, at, path.keys.data());
  copy_padded(values, pass.columns.width, segment.length, pass.head_dim, path.values.data() + at * stride);
  if (with_gradients) {
    copy_transposed(values, pass.columns.width, segment.length, pass.head_dim, at, path.value_columns.data());
    copy_padded(keys, pass.columns.width, segment.length, pass.head_dim, path.key_rows.data() + at * stride);
    std::fill_n(path.dkeys.begin() + at * stride, segment.length * stride, 0.0f);
    std::fill_n(path.dvalues.begin() + at * stride, segment.length * stride, 0.0f);
  }
  path.segments.push_back(index);
  path.length += segment.length;
}

// Takes the latest segment away. With dprojections, the gradients of its keys and values, to which all that saw them
// have added by now, go there.
void pop(const Pass& pass, std::int64_t kv_head, float* dprojections, Path& path) {
  const Segment& segment = pass.rows.segments[static_cast<std::size_t>(path.segments.back())];
  path.segments.pop_back();
  path.length -= segment.length;
  if (!dprojections) return;
  const std::int64_t stride = padded(pass.head_dim);
  float* row = dprojections + segment.begin * pass.columns.width + kv_head * pass.head_dim;
  for (std::int64_t j = path.length; j < path.length + segment.length; ++j, row += pass.columns.width) {
    std::copy_n(path.dkeys.data() + j * stride, pass.head_dim, row + pass.columns.key);
    std::copy_n(path.dvalues.data() + j * stride, pass.head_dim, row + pass.columns.value);
  }
}

cpu::KeySpan span_of(const Pass& pass, const Path& path) {
  return {path.keys.data(), path.values.data(), padded(pass.head_dim), path.length};
}

cpu::SpanGradient gradient_of(Path& path) {
  return {path.key_rows.data(), path.value_columns.data(), path.dkeys.data(), path.dvalues.data()};
}

// Walks the trie of one head of keys: calls body(segment, attention, gradient) with the keys and values on its path.
template <class Body>
void walk(const Pass& pass, std::int64_t kv_head, float* dprojections, AttentionScratch& scratch, const Body& body) {
  Path &prompt = scratch.prompt, &response = scratch.response;
  for (std::size_t s = 0; s < pass.rows.segments.size(); ++s) {
    const Segment& segment = pass.rows.segments[s];
    const bool answers = segment.prompt_length > 0;
    while (!response.segments.empty() && response.segments.back() != segment.parent)
      pop(pass, kv_head, dprojections, response);
    if (response.segments.empty()) {
      while (!prompt.segments.empty() && prompt.segments.back() != segment.parent)
        pop(pass, kv_head, dprojections, prompt);
    }
    Path& own = answers ? response : prompt;
    push(pass, static_cast<std::int32_t>(s), kv_head, dprojections != nullptr, own);
    RLFLOW_CHECK(prompt.length + response.length == segment.position + segment.length, "a segment out of order");
    const std::int64_t room = padded(prompt.length) + padded(own.length);
    grow(scratch.scores, room);
    if (dprojections) grow(scratch.dscores, room);
    cpu::Attention attention{answers ? span_of(pass, prompt) : cpu::KeySpan{},
                             span_of(pass, own),
                             0,
                             pass.head_dim,
                             pass.scale,
                             scratch.scores.data()};
    cpu::AttentionGradient gradient{answers ? gradient_of(prompt) : cpu::SpanGradient{}, gradient_of(own),
                                    scratch.dscores.data()};
    body(segment, attention, gradient);
  }
  for (Path* path : {&response, &prompt}) {
    while (!path->segments.empty()) pop(pass, kv_head, dprojections, *path);
  }
}

// Shares the heads of keys out: body(head, scratch of its thread).
template <class Body>
void for_kv_heads(const ModelConfig& config, std::span<AttentionScratch> scratch, const Body& body) {
  const std::int64_t parts = std::min<std::int64_t>(config.kv_heads, static_cast<std::int64_t>(scratch.size()));
  run_lanes(parts, static_cast<std::int32_t>(parts), [&](std::int64_t part) {
    for (std::int64_t head = part; head < config.kv_heads; head += parts)
      body(head, scratch[static_cast<std::size_t>(part)]);
  });
}

}  // namespace

void copy_transposed(const float* rows, std::int64_t row_stride, std::int64_t length, std::int64_t head_dim,
                     std::int64_t at, float* columns) {
  for (std::int64_t j = at; j < at + length; ++j, rows += row_stride) {
    float* column = columns + j / cpu::kLanes * cpu::kLanes * head_dim + j % cpu::kLanes;
    for (std::int64_t d = 0; d < head_dim; ++d) column[d * cpu::kLanes] = rows[d];
  }
}

void copy_padded(const float* rows, std::int64_t row_stride, std::int64_t length, std::int64_t head_dim,
                 float* padded_rows) {
  const std::int64_t stride = padded(head_dim);
  for (std::int64_t j = 0; j < length; ++j) {
    std::copy_n(rows + j * row_stride, head_dim, padded_rows + j * stride);
    std::fill_n(padded_rows + j * stride + head_dim, stride - head_dim, 0.0f);
  }
}

float attention_scale(const ModelConfig& config) { return 1.0f / std::sqrt(static_cast<float>(config.query_scalar)); }

void attention(const ModelConfig& config, std::int64_t layer, const PackedRows& rows, const float* projections,
               float* out, float* log_sums, std::span<AttentionScratch> scratch) {
  const Pass pass(config, rows, projections);
  for_kv_heads(config, scratch, [&](std::int64_t kv_head, AttentionScratch& own) {
    walk(pass, kv_head, nullptr, own, [&](const Segment& segment, cpu::Attention& span, const cpu::AttentionGradient&) {
      for (std::int64_t i = 0; i < segment.length; ++i) {
        const std::int64_t row = segment.begin + i;
        span.own_visible = segment.position - segment.prompt_length + i + 1;
        limit_to_window(config, layer, span);
        for (std::int64_t head = kv_head * pass.repeats; head < (kv_head + 1) * pass.repeats; ++head) {
          const float sum = cpu::kernels().attend(span, projections + row * pass.columns.width + head * pass.head_dim,
                                                  out + row * config.query_size() + head * pass.head_dim);
          if (log_sums) log_sums[row * config.heads + head] = sum;
        }
      }
    });
  });
}

void attention_backward(const ModelConfig& config, std::int64_t layer, const PackedRows& rows, const float* projections,
                        const float* out, const float* log_sums, const float* dout, float* dprojections,
                        std::span<AttentionScratch> scratch) {
  const Pass pass(config, rows, projections);
  std::fill_n(dprojections, rows.size() * pass.columns.width, 0.0f);
  for_kv_heads(config, scratch, [&](std::int64_t kv_head, AttentionScratch& own) {
    walk(pass, kv_head, dprojections, own,
         [&](const Segment& segment, cpu::Attention& span, const cpu::AttentionGradient& gradient) {
           for (std::int64_t i = 0; i < segment.length; ++i) {
             const std::int64_t row = segment.begin + i;
             span.own_visible = segment.position - segment.prompt_length + i + 1;
             limit_to_window(config, layer, span);
             for (std::int64_t head = kv_head * pass.repeats; head < (kv_head + 1) * pass.repeats; ++head) {
               const std::int64_t at = row * config.query_size() + head * pass.head_dim;
               const std::int64_t projection = row * pass.columns.width + head * pass.head_dim;
               cpu::kernels().attend_backward(span, gradient, projections + projection, out + at,
                                              log_sums[row * config.heads + head], dout + at,
                                              dprojections + projection);
             }
           }
         });
  });
}

}  // namespace rlflow
