// How one large product is shared out over threads.
#include "nodes/model/linear.h"

#include <algorithm>

#include "nodes/model/lanes.h"

namespace rlflow {
namespace {

// Multiply-adds that are worth a thread of their own: some tenths of a millisecond, so that a thread which is late
// costs little beside them.
constexpr std::int64_t kWorth = 1 << 23;
// Parts are whole panels of two tiles, or whole tiles of rows, in every instruction set.
constexpr std::int64_t kColumnStep = 2 * cpu::kLanes, kRowStep = 12;

}  // namespace

void run_product(const cpu::Product& product, std::int32_t threads) {
  const std::int64_t work = product.rows * product.columns * product.depth;
  const bool by_columns = product.columns >= product.rows;
  const std::int64_t size = by_columns ? product.columns : product.rows, step = by_columns ? kColumnStep : kRowStep;
  const std::int64_t parts = std::min<std::int64_t>({threads, work / kWorth, size / step});
  if (parts <= 1) return cpu::kernels().product(product);
  const std::int64_t share = ((size + parts - 1) / parts + step - 1) / step * step;
  run_lanes(parts, threads, [&](std::int64_t i) {
    const std::int64_t first = std::min(i * share, size), count = std::min(share, size - first);
    if (count == 0) return;
    cpu::Product part = product;
    if (by_columns) {
      part.columns = count;
      part.b += first / cpu::kLanes * product.b_panel;
      part.c += first;
    } else {
      part.rows = count;
      part.a += first * product.a_row;
      part.c += first * product.c_row;
    }
    cpu::kernels().product(part);
  });
}

}  // namespace rlflow
