// Row-wise layers of kernels.h for one instruction set: RMS norm, RoPE, gated activations, and sums of vectors.
#pragma once

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/cpu/vector.h"

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

inline float dot(const float* x, const float* y, std::int64_t size) {
  Vec total{};
  for (std::int64_t i = 0; i < size; i += kLanes) {
    total += load_part(x + i, size - i, 0.0f) * load_part(y + i, size - i, 0.0f);
  }
  return sum(total);
}

void rms_norm(const float* x, const float* weight, float weight_offset, std::int64_t rows, std::int64_t size, float eps,
              float* y, float* scales) {
  for (std::int64_t row = 0; row < rows; ++row, x += size, y += size) {
    const float scale = 1.0f / __builtin_sqrtf(dot(x, x, size) / static_cast<float>(size) + eps);
    if (scales) scales[row] = scale;
    for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] * scale * (weight[i] + weight_offset);
  }
}

// With g = (weight + offset)⊙dy: dx = scale·(g − x·scale²·(g·x)/size), dweight = Σ_rows dy⊙x·scale.
void rms_norm_backward(const float* x, const float* weight, float weight_offset, const float* scales, const float* dy,
                       std::int64_t rows, std::int64_t size, float* dx, bool add, float* dweight) {
  for (std::int64_t row = 0; row < rows; ++row, x += size, dy += size, dx += size) {
    const float scale = scales[row];
    Vec total{};
    for (std::int64_t i = 0; i < size; i += kLanes) {
      const std::int64_t left = size - i;
      const Vec factor = load_part(weight + i, left, 0.0f) + weight_offset;
      total += factor * load_part(dy + i, left, 0.0f) * load_part(x + i, left, 0.0f);
    }
    const float along = sum(total) * scale * scale / static_cast<float>(size);
    for (std::int64_t i = 0; i < size; ++i) {
      const float gradient = scale * ((weight[i] + weight_offset) * dy[i] - x[i] * along);
      if (dweight) dweight[i] += dy[i] * x[i] * scale;
      dx[i] = add ? dx[i] + gradient : gradient;
    }
  }
}

void rope(float* x, std::int64_t row_stride, const std::int32_t* positions, std::int64_t rows, std::int64_t heads,
          std::int64_t head_dim, const float* cos, const float* sin, float direction) {
  const std::int64_t half = head_dim / 2;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* c = cos + positions[row] * half;
    const float* s = sin + positions[row] * half;
    for (std::int64_t head = 0; head < heads; ++head) {
      float* __restrict low = x + row * row_stride + head * head_dim;
      float* __restrict high = low + half;
      for (std::int64_t i = 0; i < half; ++i) {
        const float a = low[i], b = high[i], turn = s[i] * direction;
        low[i] = a * c[i] - b * turn;
        high[i] = b * c[i] + a * turn;
      }
    }
  }
}

void swiglu(const float* gate_up, std::int64_t rows, std::int64_t size, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, gate_up += 2 * size, y += size) {
    for (std::int64_t i = 0; i < size; i += kLanes) {
      const Vec gate = load_part(gate_up + i, size - i, 0.0f);
      const Vec up = load_part(gate_up + size + i, size - i, 0.0f);
      store_part(y + i, gate / (1.0f + exp(-gate)) * up, size - i);
    }
  }
}

// σ = 1/(1+e^−gate): dgate = dy·up·σ·(1 + gate·(1−σ)), dup = dy·gate·σ.
void swiglu_backward(float* gate_up, const float* dy, std::int64_t rows, std::int64_t size) {
  for (std::int64_t row = 0; row < rows; ++row, gate_up += 2 * size, dy += size) {
    for (std::int64_t i = 0; i < size; i += kLanes) {
      const std::int64_t left = size - i;
      const Vec gate = load_part(gate_up + i, left, 0.0f);
      const Vec up = load_part(gate_up + size + i, left, 0.0f);
      const Vec d = load_part(dy + i, left, 0.0f);
      const Vec sigmoid = 1.0f / (1.0f + exp(-gate));
      store_part(gate_up + i, d * up * sigmoid * (1.0f + gate * (1.0f - sigmoid)), left);
      store_part(gate_up + size + i, d * gate * sigmoid, left);
    }
  }
}

// gelu(x) = x·σ(2u), since ½(1 + tanh u) = σ(2u); twice u = √(2/π)(x + 0.044715x³).
inline Vec gelu_argument(Vec x) { return (x + 0.044715f * (x * x * x)) * 1.5957691216057308f; }

void geglu(const float* gate_up, std::int64_t rows, std::int64_t size, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, gate_up += 2 * size, y += size) {
    for (std::int64_t i = 0; i < size; i += kLanes) {
      const Vec gate = load_part(gate_up + i, size - i, 0.0f);
      const Vec up = load_part(gate_up + size + i, size - i, 0.0f);
      store_part(y + i, gate / (1.0f + exp(-gelu_argument(gate))) * up, size - i);
    }
  }
}

// With v = 2u and σ = σ(v): dgate = dy·up·(σ + gate·σ(1−σ)·v′), v′ = 2√(2/π)(1 + 3·0.044715·gate²); dup = dy·gate·σ.
void geglu_backward(float* gate_up, const float* dy, std::int64_t rows, std::int64_t size) {
  for (std::int64_t row = 0; row < rows; ++row, gate_up += 2 * size, dy += size) {
    for (std::int64_t i = 0; i < size; i += kLanes) {
      const std::int64_t left = size - i;
      const Vec gate = load_part(gate_up + i, left, 0.0f);
      const Vec up = load_part(gate_up + size + i, left, 0.0f);
      const Vec d = load_part(dy + i, left, 0.0f);
      const Vec sigmoid = 1.0f / (1.0f + exp(-gelu_argument(gate)));
      const Vec slope = (1.0f + 0.134145f * (gate * gate)) * 1.5957691216057308f;
      store_part(gate_up + i, d * up * (sigmoid + gate * sigmoid * (1.0f - sigmoid) * slope), left);
      store_part(gate_up + size + i, d * gate * sigmoid, left);
    }
  }
}

void add(const float* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += x[i];
}

double sum_of_squares(const float* x, std::int64_t count) {
  double lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::int64_t k = 0; k < 8; ++k) lanes[k] += static_cast<double>(x[i + k]) * x[i + k];
  }
  for (; i < count; ++i) lanes[i % 8] += static_cast<double>(x[i]) * x[i];
  double total = 0;
  for (double lane : lanes) total += lane;
  return total;
}

void adamw(const AdamStep& step, std::int64_t count, float* parameter, const float* gradient, float* moment1,
           float* moment2) {
  const float keep = 1.0f - step.learning_rate * step.decay;
  const float size = step.learning_rate / step.correction1;
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * step.gradient_scale;
    moment1[i] += (g - moment1[i]) * (1.0f - step.beta1);
    moment2[i] = moment2[i] * step.beta2 + g * g * (1.0f - step.beta2);
    const float root = __builtin_sqrtf(moment2[i]) / step.root_correction2 + step.eps;
    parameter[i] = parameter[i] * keep - size * (moment1[i] / root);
  }
}

}  // namespace
}  // namespace rlflow::cpu::RLFLOW_ISA
