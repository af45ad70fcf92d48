// Attention over packed rows, and the layout of keys and values that it shares with the KV cache.
#include "nodes/model/attention.h"

#include <algorithm>
#include <cmath>

namespace rlflow {
namespace {

using cpu::padded;

void grow(std::vector<float>& buffer, std::int64_t size) {
  if (static_cast<std::int64_t>(buffer.size()) < size) buffer.resize(static_cast<std::size_t>(size));
}

const Segment* prefix_of(const PackedRows& rows, const Segment& segment) {
  return segment.prefix < 0 ? nullptr : &rows.segments[static_cast<std::size_t>(segment.prefix)];
}

std::int64_t longest_segment(const PackedRows& rows) {
  std::int64_t longest = 0;
  for (const Segment& segment : rows.segments) longest = std::max(longest, segment.length);
  return longest;
}

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

cpu::KeySpan gather(const Pass& pass, const Segment* segment, std::int64_t kv_head, AttentionScratch::Span& span) {
  if (!segment) return {};
  const std::int64_t stride = padded(segment->length), value_stride = padded(pass.head_dim);
  grow(span.keys, pass.head_dim * stride);
  grow(span.values, segment->length * value_stride);
  copy_transposed(pass.key_rows(*segment, kv_head), pass.columns.width, segment->length, pass.head_dim,
                  span.keys.data(), stride);
  copy_padded(pass.value_rows(*segment, kv_head), pass.columns.width, segment->length, pass.head_dim,
              span.values.data());
  return {span.keys.data(), span.values.data(), stride, value_stride, segment->length};
}

cpu::SpanGradient gather_gradient(const Pass& pass, const Segment* segment, std::int64_t kv_head,
                                  AttentionScratch::Span& span) {
  if (!segment) return {};
  const std::int64_t stride = padded(segment->length), size = segment->length * padded(pass.head_dim);
  grow(span.key_rows, size);
  grow(span.value_columns, pass.head_dim * stride);
  grow(span.dkeys, size);
  grow(span.dvalues, size);
  copy_padded(pass.key_rows(*segment, kv_head), pass.columns.width, segment->length, pass.head_dim,
              span.key_rows.data());
  copy_transposed(pass.value_rows(*segment, kv_head), pass.columns.width, segment->length, pass.head_dim,
                  span.value_columns.data(), stride);
  std::fill_n(span.dkeys.begin(), size, 0.0f);
  std::fill_n(span.dvalues.begin(), size, 0.0f);
  return {span.key_rows.data(), span.value_columns.data(), span.dkeys.data(), span.dvalues.data()};
}

// Adds a span's gradients to the key and value columns of its rows.
void scatter_gradient(const Pass& pass, const Segment* segment, std::int64_t kv_head,
                      const AttentionScratch::Span& span, float* dprojections) {
  if (!segment) return;
  const std::int64_t stride = padded(pass.head_dim);
  float* row = dprojections + segment->begin * pass.columns.width + kv_head * pass.head_dim;
  for (std::int64_t j = 0; j < segment->length; ++j, row += pass.columns.width) {
    cpu::kernels().add(span.dkeys.data() + j * stride, pass.head_dim, row + pass.columns.key);
    cpu::kernels().add(span.dvalues.data() + j * stride, pass.head_dim, row + pass.columns.value);
  }
}

// Calls body(segment, prefix or null, kv_head, attention) with both spans gathered; a prefix is gathered once for
// the segments that follow it.
template <class Body>
void for_each_span(const Pass& pass, AttentionScratch& scratch, const Body& body) {
  const std::int64_t room = 2 * padded(longest_segment(pass.rows));
  grow(scratch.scores, room);
  grow(scratch.dscores, room);
  for (std::int64_t kv_head = 0; kv_head < pass.config.kv_heads; ++kv_head) {
    const Segment* gathered = nullptr;
    cpu::Attention attention{{}, {}, 0, pass.head_dim, pass.scale, scratch.scores.data()};
    for (const Segment& segment : pass.rows.segments) {
      const Segment* prefix = prefix_of(pass.rows, segment);
      if (prefix != gathered) {
        attention.shared = gather(pass, prefix, kv_head, scratch.shared);
        gathered = prefix;
      }
      attention.own = gather(pass, &segment, kv_head, scratch.own);
      body(segment, prefix, kv_head, attention);
    }
  }
}

}  // namespace

void copy_transposed(const float* rows, std::int64_t row_stride, std::int64_t length, std::int64_t head_dim,
                     float* columns, std::int64_t column_stride) {
  for (std::int64_t d = 0; d < head_dim; ++d) {
    float* column = columns + d * column_stride;
    for (std::int64_t j = 0; j < length; ++j) column[j] = rows[j * row_stride + d];
    for (std::int64_t j = length; j < padded(length); ++j) column[j] = 0.0f;
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
               float* out, float* log_sums, AttentionScratch& scratch) {
  const Pass pass(config, rows, projections);
  for_each_span(pass, scratch, [&](const Segment& segment, const Segment*, std::int64_t kv_head, cpu::Attention& span) {
    for (std::int64_t i = 0; i < segment.length; ++i) {
      const std::int64_t row = segment.begin + i;
      span.own_visible = i + 1;
      limit_to_window(config, layer, span);
      for (std::int64_t head = kv_head * pass.repeats; head < (kv_head + 1) * pass.repeats; ++head) {
        log_sums[row * config.heads + head] =
            cpu::kernels().attend(span, projections + row * pass.columns.width + head * pass.head_dim,
                                  out + row * config.query_size() + head * pass.head_dim);
      }
    }
  });
}

void attention_backward(const ModelConfig& config, std::int64_t layer, const PackedRows& rows, const float* projections,
                        const float* out, const float* log_sums, const float* dout, float* dprojections,
                        AttentionScratch& scratch) {
  const Pass pass(config, rows, projections);
  std::fill_n(dprojections, rows.size() * pass.columns.width, 0.0f);
  for_each_span(
      pass, scratch, [&](const Segment& segment, const Segment* prefix, std::int64_t kv_head, cpu::Attention& span) {
        cpu::AttentionGradient gradient{gather_gradient(pass, prefix, kv_head, scratch.shared),
                                        gather_gradient(pass, &segment, kv_head, scratch.own), scratch.dscores.data()};
        for (std::int64_t i = 0; i < segment.length; ++i) {
          const std::int64_t row = segment.begin + i;
          span.own_visible = i + 1;
          limit_to_window(config, layer, span);
          for (std::int64_t head = kv_head * pass.repeats; head < (kv_head + 1) * pass.repeats; ++head) {
            const std::int64_t at = row * config.query_size() + head * pass.head_dim;
            const std::int64_t projection = row * pass.columns.width + head * pass.head_dim;
            cpu::kernels().attend_backward(span, gradient, projections + projection, out + at,
                                           log_sums[row * config.heads + head], dout + at, dprojections + projection);
          }
        }
        scatter_gradient(pass, prefix, kv_head, scratch.shared, dprojections);
        scatter_gradient(pass, &segment, kv_head, scratch.own, dprojections);
      });
}

}  // namespace rlflow
