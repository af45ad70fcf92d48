// Rounding of f32 to bf16.
#include "nodes/model/bf16.h"

#include <algorithm>

#include "nodes/model/lanes.h"

namespace rlflow {
namespace {

template <class Body>
void for_parts(std::int64_t count, std::int32_t threads, const Body& body) {
  constexpr std::int64_t kPart = 1 << 18;
  run_lanes((count + kPart - 1) / kPart, threads, [&](std::int64_t part) {
    for (std::int64_t i = part * kPart; i < std::min(count, (part + 1) * kPart); ++i) body(i);
  });
}

}  // namespace

void round_to_bf16(const float* from, std::int64_t count, std::int32_t threads, float* to) {
  for_parts(count, threads, [=](std::int64_t i) { to[i] = rounded_to_bf16(from[i]); });
}

void pack_bf16(const float* from, std::int64_t count, std::int32_t threads, std::uint16_t* out) {
  for_parts(count, threads,
            [=](std::int64_t i) { out[i] = static_cast<std::uint16_t>(bf16_rounded_bits(from[i]) >> 16); });
}

}  // namespace rlflow
