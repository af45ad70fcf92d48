// The matrix product of kernels.h for one instruction set.
#pragma once

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/cpu/vector.h"

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

// The 16 columns of a panel in as many registers as the machine needs: vectors wider than its registers would be kept
// in memory. Tiles are as high as their sums fit in registers, beside a row of B.
#if defined(__AVX512F__)
constexpr int kNative = 16, kTileRows = 12;  // of 32 registers
#elif defined(__AVX2__)
constexpr int kNative = 8, kTileRows = 6;  // 12 of 16 registers
#else
constexpr int kNative = 4, kTileRows = 3;  // 12 of 16 or 32 registers
#endif
constexpr int kParts = 16 / kNative;
using Native = float __attribute__((vector_size(kNative * sizeof(float))));

inline Native load_native(const float* p) {
  Native v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Rows i … i+kRows of C in the 16 columns of one panel.
template <int kRows, bool kWhole>
inline void tile(const Product& p, const float* a, const float* b, float* c, std::int64_t columns) {
  Native sums[kRows][kParts];
  for (int r = 0; r < kRows; ++r) {
    float start[16];
    store(start, p.add ? load_part(c + r * p.c_row, columns, 0.0f) : Vec{});
    for (int k = 0; k < kParts; ++k) sums[r][k] = load_native(start + k * kNative);
  }
  for (std::int64_t t = 0; t < p.depth; ++t) {
    float part[16];
    if constexpr (!kWhole) store(part, load_part(b, columns, 0.0f));
    Native row[kParts];
    for (int k = 0; k < kParts; ++k) row[k] = load_native((kWhole ? b : part) + k * kNative);
    for (int r = 0; r < kRows; ++r) {
      for (int k = 0; k < kParts; ++k) sums[r][k] += a[r * p.a_row] * row[k];
    }
    a += p.a_depth;
    b += p.b_depth;
  }
  for (int r = 0; r < kRows; ++r) {
    float end[16];
    for (int k = 0; k < kParts; ++k) std::memcpy(end + k * kNative, &sums[r][k], sizeof(Native));
    store_part(c + r * p.c_row, load(end), columns);
  }
}

// The tile of `rows` (1 … kRows) rows.
template <int kRows, bool kWhole>
inline void tile_of(std::int64_t rows, const Product& p, const float* a, const float* b, float* c,
                    std::int64_t columns) {
  if (rows == kRows) return tile<kRows, kWhole>(p, a, b, c, columns);
  if constexpr (kRows > 1) tile_of<kRows - 1, kWhole>(rows, p, a, b, c, columns);
}

// As few tiles as can be, of equal height.
template <bool kWhole>
inline void panel(const Product& p, const float* b, float* c, std::int64_t columns) {
  const std::int64_t tiles = (p.rows + kTileRows - 1) / kTileRows;
  for (std::int64_t i = 0, begin = 0; i < tiles; ++i) {
    const std::int64_t end = p.rows * (i + 1) / tiles;
    tile_of<kTileRows, kWhole>(end - begin, p, p.a + begin * p.a_row, b, c + begin * p.c_row, columns);
    begin = end;
  }
}

void product(const Product& p) {
  for (std::int64_t j = 0; j < p.columns; j += kLanes) {
    const float* b = p.b + j / kLanes * p.b_panel;
    const std::int64_t columns = p.columns - j < kLanes ? p.columns - j : kLanes;
    if (columns == kLanes || p.b_padded) {
      panel<true>(p, b, p.c + j, columns);
    } else {
      panel<false>(p, b, p.c + j, columns);
    }
  }
}

}  // namespace
}  // namespace rlflow::cpu::RLFLOW_ISA
