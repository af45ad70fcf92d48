// The matrix product of kernels.h for one instruction set.
//
// Blocked for caches: a block of A's rows and a panel of B, kDepth deep, are packed where their strides would scatter
// them; a tile of C stays in registers while t runs over a block. C goes to memory and back between blocks without
// rounding, so the sum of an entry is what the header says: one, t ascending, whatever rows are computed beside it.
#pragma once

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/cpu/vector.h"

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

#ifdef __AVX512F__
constexpr int kRegisterFloats = 16, kTileRows = 12, kTilePanels = 2;  // 24 of 32 registers hold sums
#elif defined(__AVX2__)
constexpr int kRegisterFloats = 8, kTileRows = 6, kTilePanels = 1;  // 12 of 16
#else
constexpr int kRegisterFloats = 4, kTileRows = 3, kTilePanels = 1;  // 12 of 16
#endif
constexpr int kRegisters = static_cast<int>(kLanes) / kRegisterFloats;  // of one row of a panel

constexpr std::int64_t kDepth = 256;                // of a block: a panel takes 16 KiB
constexpr std::int64_t kBlockRows = 8 * kTileRows;  // of A that are packed at once: at most 96 KiB

using Register = float __attribute__((vector_size(4 * kRegisterFloats)));

inline Register load_register(const float* p) {
  Register v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// A part of B: kPanels panels of 16 columns, `panel` floats apart, rows `depth` floats apart.
struct PanelsOfB {
  const float* at;
  std::int64_t depth, panel;
};

// kRows rows and kPanels panels of C (+)= A·B over `size` steps of t. `start`: sums begin at 0.
template <int kRows, int kPanels>
inline void tile(const float* a, std::int64_t a_row, std::int64_t a_depth, const PanelsOfB& b, std::int64_t size,
                 bool start, float* c, std::int64_t c_row) {
  Register sums[kRows][kPanels * kRegisters];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int k = 0; k < kPanels * kRegisters; ++k) {
      sums[r][k] = start ? Register{} : load_register(c + r * c_row + k * kRegisterFloats);
    }
  }
  const float* row = b.at;
  for (std::int64_t t = 0; t < size; ++t) {
    Register columns[kPanels * kRegisters];
#pragma GCC unroll 16
    for (int k = 0; k < kPanels * kRegisters; ++k) {
      columns[k] = load_register(row + k / kRegisters * b.panel + k % kRegisters * kRegisterFloats);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const float factor = a[r * a_row];
#pragma GCC unroll 16
      for (int k = 0; k < kPanels * kRegisters; ++k) sums[r][k] += factor * columns[k];
    }
    a += a_depth;
    row += b.depth;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int k = 0; k < kPanels * kRegisters; ++k) {
      std::memcpy(c + r * c_row + k * kRegisterFloats, &sums[r][k], sizeof(Register));
    }
  }
}

// The rows of one block of A: packed tile by tile (kTileRows floats for each t, of which a smaller tile uses the
// first), or where they stand.
struct RowsOfA {
  const float* at;
  std::int64_t row, depth;  // strides; of a packed block 1 and kTileRows
  bool packed;
};

// Rows are shared out evenly over as few tiles as there can be: a small tile does not hide the latency of its sums.
inline std::int64_t tiles_for(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

// Tile `q` of kRows rows, of which the first is `i`.
template <int kRows, int kPanels>
inline void tile_at(const RowsOfA& a, std::int64_t q, std::int64_t i, const PanelsOfB& b, std::int64_t size, bool start,
                    float* c, std::int64_t c_row) {
  if (a.packed) {
    tile<kRows, kPanels>(a.at + q * kTileRows * size, 1, kTileRows, b, size, start, c, c_row);
  } else {
    tile<kRows, kPanels>(a.at + i * a.row, a.row, a.depth, b, size, start, c, c_row);
  }
}

// kRows or fewer.
template <int kRows, int kPanels>
inline void tile_of(std::int64_t count, const RowsOfA& a, std::int64_t q, std::int64_t i, const PanelsOfB& b,
                    std::int64_t size, bool start, float* c, std::int64_t c_row) {
  if constexpr (kRows > 1) {
    if (count < kRows) return tile_of<kRows - 1, kPanels>(count, a, q, i, b, size, start, c, c_row);
  }
  tile_at<kRows, kPanels>(a, q, i, b, size, start, c, c_row);
}

// `rows` rows of C in kPanels panels. Every row count has its tile, so no work is done for rows that are not there.
template <int kPanels>
inline void panels(const RowsOfA& a, std::int64_t rows, const PanelsOfB& b, std::int64_t size, bool start, float* c,
                   std::int64_t c_row) {
  const std::int64_t tiles = tiles_for(rows);
  for (std::int64_t q = 0; q < tiles; ++q) {
    const std::int64_t i = rows * q / tiles, count = rows * (q + 1) / tiles - i;
    tile_of<kTileRows, kPanels>(count, a, q, i, b, size, start, c + i * c_row, c_row);
  }
}

// Tiles of `rows` rows from row `i`, t from `t`: packed[tile][t][row of the tile].
inline void pack_rows(const Product& p, std::int64_t i, std::int64_t rows, std::int64_t t, std::int64_t size,
                      float* packed) {
  const std::int64_t tiles = tiles_for(rows);
  for (std::int64_t q = 0; q < tiles; ++q, packed += kTileRows * size) {
    const std::int64_t first = rows * q / tiles, count = rows * (q + 1) / tiles - first;
    const float* a = p.a + (i + first) * p.a_row + t * p.a_depth;
    if (p.a_row == 1) {
      for (std::int64_t k = 0; k < size; ++k) {
        for (std::int64_t r = 0; r < count; ++r) packed[k * kTileRows + r] = a[k * p.a_depth + r];
      }
    } else {
      for (std::int64_t r = 0; r < count; ++r) {
        for (std::int64_t k = 0; k < size; ++k) packed[k * kTileRows + r] = a[r * p.a_row + k * p.a_depth];
      }
    }
  }
}

// One panel of B, zeros beyond its last column: packed[t][16].
inline void pack_panel(const Product& p, std::int64_t j, std::int64_t t, std::int64_t size, float* packed) {
  const std::int64_t columns = p.columns - j < kLanes ? p.columns - j : kLanes;
  const float* b = p.b + j / kLanes * p.b_panel + t * p.b_depth;
  for (std::int64_t k = 0; k < size; ++k, b += p.b_depth, packed += kLanes) {
    if (columns == kLanes) {
      std::memcpy(packed, b, kLanes * sizeof(float));
    } else {
      for (std::int64_t c = 0; c < kLanes; ++c) packed[c] = c < columns ? b[c] : 0.0f;
    }
  }
}

// The last panel where C has fewer than 16 columns left: computed beside C and copied.
inline void narrow_panel(const Product& p, const RowsOfA& a, std::int64_t i, std::int64_t rows, std::int64_t j,
                         const PanelsOfB& b, std::int64_t size, bool start) {
  float wide[kBlockRows * kLanes];
  const std::int64_t columns = p.columns - j;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < kLanes; ++k) {
      wide[r * kLanes + k] = k < columns && !start ? p.c[(i + r) * p.c_row + j + k] : 0.0f;
    }
  }
  panels<1>(a, rows, b, size, start, wide, kLanes);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < columns; ++k) p.c[(i + r) * p.c_row + j + k] = wide[r * kLanes + k];
  }
}

// All columns of `rows` rows from row `i`, t from `t`.
inline void block(const Product& p, const RowsOfA& a, std::int64_t i, std::int64_t rows, std::int64_t t,
                  std::int64_t size, bool start) {
  alignas(64) float packed[kTilePanels * kDepth * kLanes];
  for (std::int64_t j = 0; j < p.columns;) {
    const int wanted = p.columns - j >= kTilePanels * kLanes ? kTilePanels : 1;
    PanelsOfB b{p.b + j / kLanes * p.b_panel + t * p.b_depth, p.b_depth, p.b_panel};
    if (!p.b_padded) {
      for (int k = 0; k < wanted; ++k) pack_panel(p, j + k * kLanes, t, size, packed + k * kDepth * kLanes);
      b = {packed, kLanes, kDepth * kLanes};
    }
    if (wanted > 1) {
      panels<kTilePanels>(a, rows, b, size, start, p.c + i * p.c_row + j, p.c_row);
    } else if (p.columns - j >= kLanes) {
      panels<1>(a, rows, b, size, start, p.c + i * p.c_row + j, p.c_row);
    } else {
      narrow_panel(p, a, i, rows, j, b, size, start);
    }
    j += wanted * kLanes;
  }
}

// One or two rows: what counts is how fast B is read. Several panels at once are several streams for the prefetcher of
// the processor (measured: four read a third faster than one), each of them whole.
#ifdef __AVX512F__
constexpr int kFewRows = 4, kStreams[] = {0, 4, 4, 4, 4};
#else
constexpr int kFewRows = 2, kStreams[] = {0, 4, 2};                 // as many as there are registers for
#endif

template <int kRows>
inline void few_rows(const Product& p) {
  constexpr int kPanels = kStreams[kRows];
  const RowsOfA a{p.a, p.a_row, p.a_depth, false};
  std::int64_t j = 0;
  for (; j + kPanels * kLanes <= p.columns; j += kPanels * kLanes) {
    const PanelsOfB b{p.b + j / kLanes * p.b_panel, p.b_depth, p.b_panel};
    tile_at<kRows, kPanels>(a, 0, 0, b, p.depth, !p.add, p.c + j, p.c_row);
  }
  for (; j < p.columns; j += kLanes) {
    const PanelsOfB b{p.b + j / kLanes * p.b_panel, p.b_depth, p.b_panel};
    if (p.columns - j >= kLanes) {
      tile_at<kRows, 1>(a, 0, 0, b, p.depth, !p.add, p.c + j, p.c_row);
    } else {
      narrow_panel(p, a, 0, kRows, j, b, p.depth, !p.add);
    }
  }
}

void product(const Product& p) {
  if (p.b_padded && p.rows == 1) return few_rows<1>(p);
  if (p.b_padded && p.rows == 2) return few_rows<2>(p);
  if constexpr (kFewRows >= 4) {
    if (p.b_padded && p.rows == 3) return few_rows<3>(p);
    if (p.b_padded && p.rows == 4) return few_rows<4>(p);
  }
  alignas(64) float packed[kBlockRows * kDepth];
  for (std::int64_t i = 0; i < p.rows; i += kBlockRows) {
    const std::int64_t rows = p.rows - i < kBlockRows ? p.rows - i : kBlockRows;
    // Few rows leave room for a deeper block, and B is read in longer runs.
    const std::int64_t packed_rows = tiles_for(rows) * kTileRows;
    const std::int64_t deepest = !p.b_padded ? kDepth : rows < kTileRows ? p.depth : kBlockRows * kDepth / packed_rows;
    std::int64_t t = 0;
    do {
      const std::int64_t size = p.depth - t < deepest ? p.depth - t : deepest;
      RowsOfA a{p.a + i * p.a_row + t * p.a_depth, p.a_row, p.a_depth, false};
      if (rows >= kTileRows) {
        pack_rows(p, i, rows, t, size, packed);
        a = {packed, 1, kTileRows, true};
      }
      block(p, a, i, rows, t, size, !p.add && t == 0);
      t += size;
    } while (t < p.depth);
  }
}

}  // namespace
}  // namespace rlflow::cpu::RLFLOW_ISA
