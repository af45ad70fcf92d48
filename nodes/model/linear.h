// The three products of a linear layer y = x·Wᵀ, W f32[outputs, inputs]. `threads` share a product that is large enough
// by columns or rows of its result, which changes no bit of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/parameters.h"

namespace rlflow {

void run_product(const cpu::Product& product, std::int32_t threads);

// y f32[rows, outputs] (+)= x·Wᵀ
inline void linear(const ForwardPanels& panels, const ForwardPanels::Matrix& w, const float* x, std::int64_t rows,
                   float* y, bool add, std::int32_t threads) {
  run_product({.rows = rows,
               .columns = w.rows,
               .depth = w.columns,
               .a = x,
               .a_row = w.columns,
               .a_depth = 1,
               .b = panels.panels(w),
               .b_depth = cpu::kLanes,
               .b_panel = cpu::kLanes * w.columns,
               .b_padded = true,
               .c = y,
               .c_row = w.rows,
               .add = add},
              threads);
}

// Columns 16·first_panel … 16·last_panel (at most `outputs`) of the same; the bits of a column do not depend on others.
inline void linear_panels(const ForwardPanels& panels, const ForwardPanels::Matrix& w, std::int64_t first_panel,
                          std::int64_t last_panel, const float* x, std::int64_t rows, float* y, bool add) {
  const std::int64_t begin = cpu::kLanes * first_panel, end = std::min(cpu::kLanes * last_panel, w.rows);
  if (begin >= end) return;
  cpu::kernels().product({.rows = rows,
                          .columns = end - begin,
                          .depth = w.columns,
                          .a = x,
                          .a_row = w.columns,
                          .a_depth = 1,
                          .b = panels.panels(w) + begin * w.columns,
                          .b_depth = cpu::kLanes,
                          .b_panel = cpu::kLanes * w.columns,
                          .b_padded = true,
                          .c = y + begin,
                          .c_row = w.rows,
                          .add = add});
}

// dx f32[rows, inputs] (+)= dy·W
inline void linear_input_gradient(const float* w, std::int64_t outputs, std::int64_t inputs, const float* dy,
                                  std::int64_t rows, float* dx, bool add, std::int32_t threads) {
  run_product({.rows = rows,
               .columns = inputs,
               .depth = outputs,
               .a = dy,
               .a_row = outputs,
               .a_depth = 1,
               .b = w,
               .b_depth = inputs,
               .b_panel = cpu::kLanes,
               .b_padded = false,
               .c = dx,
               .c_row = inputs,
               .add = add},
              threads);
}

// dW f32[outputs, inputs] += dyᵀ·x, rows ascending
inline void linear_weight_gradient(const float* dy, std::int64_t outputs, const float* x, std::int64_t inputs,
                                   std::int64_t rows, float* dw, std::int32_t threads) {
  run_product({.rows = outputs,
               .columns = inputs,
               .depth = rows,
               .a = dy,
               .a_row = 1,
               .a_depth = outputs,
               .b = x,
               .b_depth = inputs,
               .b_panel = cpu::kLanes,
               .b_padded = false,
               .c = dw,
               .c_row = inputs,
               .add = true},
              threads);
}

}  // namespace rlflow
