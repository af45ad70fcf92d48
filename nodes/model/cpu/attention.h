// Attention of one query over two spans of keys, for one instruction set.
#pragma once

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/cpu/vector.h"

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

// Where 16 keys from the j-th on (j a multiple of 16) begin and how far apart their dimensions lie, and the same of
// the values: how a span lies in memory changes no bit of what is computed from it.
struct Columns {
  const float* at;
  std::int64_t stride;
};
inline Columns keys_from(const KeySpan& span, std::int64_t head_dim, std::int64_t j) {
  return {span.keys + j * head_dim, kLanes};
}
inline Columns values_from(const KeySpan& span, std::int64_t, std::int64_t j) {
  return {span.values + j * span.value_stride, span.value_stride};
}
inline Columns keys_from(const PagedSpan& span, std::int64_t, std::int64_t j) {
  return {span.blocks[j / kLanes] + span.offset, kLanes};
}
inline Columns values_from(const PagedSpan& span, std::int64_t head_dim, std::int64_t j) {
  return {span.blocks[j / kLanes] + span.offset + kLanes * head_dim, padded(head_dim)};
}

// Where the block of 16 keys begins that holds the first one seen.
template <class Span>
inline std::int64_t first_block(const Span& span) {
  return span.first / kLanes * kLanes;
}

// Where `use` is called for blocks of 16, it is for kBlocks of them at a time: their sums are independent, so that a
// processor that is busy with one goes on with another.
constexpr int kTogether = 4;
template <class Use>
inline void for_blocks(std::int64_t first, std::int64_t end, const Use& use) {
  std::int64_t j = first;
  for (; j + (kTogether - 1) * kLanes < end; j += kTogether * kLanes) use.template operator()<kTogether>(j);
  for (; j < end; j += kLanes) use.template operator()<1>(j);
}

// Σ_d x[d]·columns[b][d] of kBlocks blocks, d ascending.
template <int kBlocks>
inline void dot_columns(const float* x, std::int64_t head_dim, const Columns (&columns)[kBlocks],
                        Vec (&totals)[kBlocks]) {
  for (std::int64_t d = 0; d < head_dim; ++d) {
#pragma GCC unroll 4
    for (int b = 0; b < kBlocks; ++b) totals[b] += x[d] * load(columns[b].at + d * columns[b].stride);
  }
}

// scores[j] = scale·Σ_d q[d]·keys[d][j] for first ≤ j < visible, −∞ in the rest of their blocks of 16.
template <class Span>
inline void score(const Span& span, std::int64_t visible, const float* q, std::int64_t head_dim, float scale,
                  float* scores) {
  for_blocks(first_block(span), visible, [&]<int kBlocks>(std::int64_t first) {
    Columns keys[kBlocks];
    Vec totals[kBlocks] = {};
    for (int b = 0; b < kBlocks; ++b) keys[b] = keys_from(span, head_dim, first + b * kLanes);
    dot_columns<kBlocks>(q, head_dim, keys, totals);
    for (int b = 0; b < kBlocks; ++b) {
      const std::int64_t j = first + b * kLanes;
      Vec total = totals[b] * scale;
      if (visible - j < kLanes || j < span.first) {
        const Int lane = lane_numbers();
        const Int seen = (lane < static_cast<std::int32_t>(visible - j < kLanes ? visible - j : kLanes)) &
                         (lane >= static_cast<std::int32_t>(span.first > j ? span.first - j : 0));
        total = choose(seen, total, splat(-__builtin_inff()));
      }
      store(scores + j, total);
    }
  });
}

// mixed[b] + Σ_j scores[j]·values[j] of the 16 dimensions from d + 16·b on, j ascending.
template <int kBlocks, class Span>
inline void mix(const Span& span, std::int64_t visible, std::int64_t head_dim, std::int64_t d, const float* scores,
                Vec (&mixed)[kBlocks]) {
  for (std::int64_t block = first_block(span); block < visible; block += kLanes) {
    const Columns values = values_from(span, head_dim, block);
    const std::int64_t end = visible - block < kLanes ? visible - block : kLanes;
    for (std::int64_t j = span.first > block ? span.first - block : 0; j < end; ++j) {
#pragma GCC unroll 4
      for (int b = 0; b < kBlocks; ++b)
        mixed[b] += scores[block + j] * load(values.at + j * values.stride + d + b * kLanes);
    }
  }
}

template <class Span>
inline Vec largest(const Span& span, const float* scores, std::int64_t visible, Vec best) {
  for (std::int64_t j = first_block(span); j < visible; j += kLanes) best = larger(best, load(scores + j));
  return best;
}

// scores ← e^(scores − shift); returns total plus their sum, lane by lane.
template <class Span>
inline Vec exponentiate(const Span& span, float* scores, std::int64_t visible, float shift, Vec total) {
  for (std::int64_t j = first_block(span); j < visible; j += kLanes) {
    const Vec e = exp(load(scores + j) - shift);
    store(scores + j, e);
    total += e;
  }
  return total;
}

template <class Spans>
inline float attend_spans(const Spans& a, const float* q, float* out) {
  float* own_scores = a.scores + padded(a.shared.length);
  score(a.shared, a.shared.length, q, a.head_dim, a.scale, a.scores);
  score(a.own, a.own_visible, q, a.head_dim, a.scale, own_scores);
  Vec best = largest(a.shared, a.scores, a.shared.length, splat(-__builtin_inff()));
  const float top = maximum(largest(a.own, own_scores, a.own_visible, best));
  Vec total = exponentiate(a.shared, a.scores, a.shared.length, top, Vec{});
  const float mass = sum(exponentiate(a.own, own_scores, a.own_visible, top, total));
  for_blocks(0, a.head_dim, [&]<int kBlocks>(std::int64_t d) {
    Vec mixed[kBlocks] = {};
    mix<kBlocks>(a.shared, a.shared.length, a.head_dim, d, a.scores, mixed);
    mix<kBlocks>(a.own, a.own_visible, a.head_dim, d, own_scores, mixed);
    for (int b = 0; b < kBlocks; ++b) store_part(out + d + b * kLanes, mixed[b] / mass, a.head_dim - d - b * kLanes);
  });
  return top + log(splat(mass))[0];
}

float attend(const Attention& a, const float* q, float* out) { return attend_spans(a, q, out); }

float attend_paged(const PagedAttention& a, const float* q, float* out) { return attend_spans(a, q, out); }

// scores ← p = e^(scores − lse); dscores ← p·(dout·V − along)·scale.
inline void score_gradient(const KeySpan& span, const SpanGradient& gradient, std::int64_t visible, const float* dout,
                           std::int64_t head_dim, float lse, float along, float scale, float* scores, float* dscores) {
  for_blocks(first_block(span), visible, [&]<int kBlocks>(std::int64_t first) {
    Columns values[kBlocks];
    Vec dp[kBlocks] = {};
    for (int b = 0; b < kBlocks; ++b) values[b] = {gradient.value_columns + (first + b * kLanes) * head_dim, kLanes};
    dot_columns<kBlocks>(dout, head_dim, values, dp);
    for (int b = 0; b < kBlocks; ++b) {
      const std::int64_t j = first + b * kLanes;
      const Vec p = exp(load(scores + j) - lse);
      store(scores + j, p);
      store(dscores + j, p * (dp[b] - along) * scale);
    }
  });
}

// dkeys[j] += dscores[j]·q and dvalues[j] += scores[j]·dout for one block of 16 dimensions; returns dq's part.
inline Vec spread(const KeySpan& span, const SpanGradient& gradient, std::int64_t visible, std::int64_t d,
                  const float* scores, const float* dscores, Vec q, Vec dout) {
  Vec dq{};
  for (std::int64_t j = span.first; j < visible; ++j) {
    const std::int64_t at = j * span.value_stride + d;
    dq += dscores[j] * load(gradient.key_rows + at);
    store(gradient.dkeys + at, load(gradient.dkeys + at) + dscores[j] * q);
    store(gradient.dvalues + at, load(gradient.dvalues + at) + scores[j] * dout);
  }
  return dq;
}

void attend_backward(const Attention& a, const AttentionGradient& g, const float* q, const float* out, float lse,
                     const float* dout, float* dq) {
  const std::int64_t own_at = padded(a.shared.length);
  score(a.shared, a.shared.length, q, a.head_dim, a.scale, a.scores);
  score(a.own, a.own_visible, q, a.head_dim, a.scale, a.scores + own_at);
  Vec along_lanes{};
  for (std::int64_t d = 0; d < a.head_dim; d += kLanes) {
    along_lanes += load_part(out + d, a.head_dim - d, 0.0f) * load_part(dout + d, a.head_dim - d, 0.0f);
  }
  const float along = sum(along_lanes);
  score_gradient(a.shared, g.shared, a.shared.length, dout, a.head_dim, lse, along, a.scale, a.scores, g.dscores);
  score_gradient(a.own, g.own, a.own_visible, dout, a.head_dim, lse, along, a.scale, a.scores + own_at,
                 g.dscores + own_at);
  for (std::int64_t d = 0; d < a.head_dim; d += kLanes) {
    const std::int64_t left = a.head_dim - d;
    const Vec q_block = load_part(q + d, left, 0.0f), dout_block = load_part(dout + d, left, 0.0f);
    Vec total = load_part(dq + d, left, 0.0f);
    total += spread(a.shared, g.shared, a.shared.length, d, a.scores, g.dscores, q_block, dout_block);
    total += spread(a.own, g.own, a.own_visible, d, a.scores + own_at, g.dscores + own_at, q_block, dout_block);
    store_part(dq + d, total, left);
  }
}

}  // namespace
}  // namespace rlflow::cpu::RLFLOW_ISA
