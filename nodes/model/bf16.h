// Rounding of f32 to bf16, whose values are the f32 numbers with 16 zero bits at the end.
#pragma once

#include <bit>
#include <cstdint>

namespace rlflow {

// To the nearest, ties to even; infinities stay, NaNs stay NaNs.
inline std::uint32_t bf16_rounded_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits | 0x00400000u) & 0xffff0000u;
  return (bits + 0x7fffu + ((bits >> 16) & 1)) & 0xffff0000u;
}
inline float rounded_to_bf16(float value) { return std::bit_cast<float>(bf16_rounded_bits(value)); }

// to[i] = from[i] rounded; they may be the same. `threads` share the work.
void round_to_bf16(const float* from, std::int64_t count, std::int32_t threads, float* to);

// The 16 bits that bf16 stores of the rounded numbers.
void pack_bf16(const float* from, std::int64_t count, std::int32_t threads, std::uint16_t* out);

}  // namespace rlflow
