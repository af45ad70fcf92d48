// The matrix product of kernels.h for one instruction set.
#pragma once

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/cpu/vector.h"

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

#ifdef __AVX512F__
constexpr int kTileRows = 12;  // 12 of 32 registers hold sums
#else
constexpr int kTileRows = 6;  // 12 of 16 registers hold sums
#endif

// Rows i … i+kRows of C in the 16 columns of one panel.
template <int kRows, bool kWhole>
inline void tile(const Product& p, const float* a, const float* b, float* c, std::int64_t columns) {
  Vec sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r] = p.add ? load_part(c + r * p.c_row, columns, 0.0f) : Vec{};
  for (std::int64_t t = 0; t < p.depth; ++t) {
    const Vec row = kWhole ? load(b) : load_part(b, columns, 0.0f);
    for (int r = 0; r < kRows; ++r) sums[r] += a[r * p.a_row] * row;
    a += p.a_depth;
    b += p.b_depth;
  }
  for (int r = 0; r < kRows; ++r) store_part(c + r * p.c_row, sums[r], columns);
}

template <bool kWhole>
inline void panel(const Product& p, const float* b, float* c, std::int64_t columns) {
  std::int64_t i = 0;
  for (; i + kTileRows <= p.rows; i += kTileRows) {
    tile<kTileRows, kWhole>(p, p.a + i * p.a_row, b, c + i * p.c_row, columns);
  }
  for (; i + 4 <= p.rows; i += 4) tile<4, kWhole>(p, p.a + i * p.a_row, b, c + i * p.c_row, columns);
  for (; i < p.rows; ++i) tile<1, kWhole>(p, p.a + i * p.a_row, b, c + i * p.c_row, columns);
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
