// Which logits truncated sampling keeps, for one instruction set.
#pragma once

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/cpu/vector.h"

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

inline float largest_logit(const float* z, std::int64_t vocabulary) {
  Vec best = splat(-__builtin_inff());
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    best = larger(load_part(z + v, vocabulary - v, -__builtin_inff()), best);
  }
  return maximum(best);
}

// Copies the logits of at least `bound` to `out`, in order; returns how many.
inline std::int64_t gather_from(const float* z, std::int64_t vocabulary, float bound, float* out) {
  std::int64_t count = 0;
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    const std::int64_t left = vocabulary - v < kLanes ? vocabulary - v : kLanes;
    if (left == kLanes && maximum(load(z + v)) < bound) continue;
    for (std::int64_t i = 0; i < left; ++i) {
      if (z[v + i] >= bound) out[count++] = z[v + i];
    }
  }
  return count;
}

// A heap whose largest number is the first. Not the standard library's: a template of it that is compiled here for one
// instruction set could be linked into code for another.
inline void sift_down(float* heap, std::int64_t size, std::int64_t at) {
  const float value = heap[at];
  for (std::int64_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
    if (child + 1 < size && heap[child + 1] > heap[child]) ++child;
    if (heap[child] <= value) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = value;
}
inline void make_heap(float* heap, std::int64_t size) {
  for (std::int64_t at = size / 2; at-- > 0;) sift_down(heap, size, at);
}
inline float pop_largest(float* heap, std::int64_t& size) {
  const float value = heap[0];
  heap[0] = heap[--size];
  if (size > 0) sift_down(heap, size, 0);
  return value;
}
inline float pop_kth(float* heap, std::int64_t size, std::int64_t k) {
  make_heap(heap, size);
  while (--k > 0) pop_largest(heap, size);
  return heap[0];
}

// The k-th largest logit. The largest of each sixteenth of a stretch bound it from below where there are k of them, so
// that few logits are left to choose from.
inline float kth_largest(const float* z, std::int64_t vocabulary, std::int64_t k, float* scratch) {
  constexpr std::int64_t kStretch = 16 * kLanes;
  float bound = -__builtin_inff();
  std::int64_t maxima = 0;
  for (std::int64_t first = 0; first + kStretch <= vocabulary; first += kStretch, maxima += kLanes) {
    Vec best = splat(-__builtin_inff());
    for (std::int64_t v = first; v < first + kStretch; v += kLanes) best = larger(load(z + v), best);
    store(scratch + maxima, best);
  }
  if (maxima >= k) {
    bound = pop_kth(scratch, maxima, k);
  }
  const std::int64_t count = gather_from(z, vocabulary, bound, scratch);
  if (count < k) return bound;  // not a number among them
  return pop_kth(scratch, count, k);
}

// The smallest logit of the most likely tokens of at least `floor` that have the share p of these tokens' probability.
inline float nucleus_floor(const float* z, std::int64_t vocabulary, float inverse_temperature, float top, float floor,
                           double p, float* scratch) {
  Vec total{};
  for (std::int64_t v = 0; v < vocabulary; v += kLanes) {
    const Vec logits = load_part(z + v, vocabulary - v, -__builtin_inff());
    total += choose(logits >= floor, exp((logits - top) * inverse_temperature), Vec{});
  }
  const double mass = sum(total);
  // Tokens below this have together less than the share 1 − p, so the border lies above; half of it, for rounding.
  const double least = mass * (1 - p) / static_cast<double>(vocabulary) / 2;
  const float bound = top + log(splat(static_cast<float>(least > 1e-30 ? least : 1e-30)))[0] / inverse_temperature;
  std::int64_t left = gather_from(z, vocabulary, bound > floor ? bound : floor, scratch);
  make_heap(scratch, left);
  double share = 0;
  while (left > 0) {
    float likeliest[kLanes];
    const std::int64_t count = left < kLanes ? left : kLanes;
    for (std::int64_t i = 0; i < count; ++i) likeliest[i] = pop_largest(scratch, left);
    const Vec e = exp((load_part(likeliest, count, -__builtin_inff()) - top) * inverse_temperature);
    for (std::int64_t i = 0; i < count; ++i) {
      share += static_cast<double>(e[i]);
      if (share >= p * mass) return likeliest[i];
    }
  }
  return floor;
}

float sampling_floor(const float* z, std::int64_t vocabulary, float inverse_temperature, const Truncation& truncation,
                     float* scratch) {
  float floor = -__builtin_inff();
  const float top = largest_logit(z, vocabulary);
  if (!(__builtin_fabsf(top) < __builtin_inff())) return floor;
  if (truncation.top_k > 0 && truncation.top_k < vocabulary)
    floor = kth_largest(z, vocabulary, truncation.top_k, scratch);
  if (truncation.top_p < 1) {
    floor = nucleus_floor(z, vocabulary, inverse_temperature, top, floor, truncation.top_p, scratch);
  }
  if (truncation.min_p > 0) {
    const float least = top + log(splat(static_cast<float>(truncation.min_p)))[0] / inverse_temperature;
    if (least > floor) floor = least < top ? least : top;
  }
  return floor;
}

}  // namespace
}  // namespace rlflow::cpu::RLFLOW_ISA
