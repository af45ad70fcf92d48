// Gated activations, forward and backward.
#include "nodes/cuda/gated.h"
#include "nodes/cuda/status.h"
#include "nodes/cuda/vectors.h"

namespace rlflow::cuda {
namespace {

constexpr int kThreads = 256;

__device__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }
__device__ float exact_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// activation(x) and its derivative. bf16 does not see the error of the fast exponential.
template <class T, Gate kGate>
__device__ void activate(float x, float& value, float& slope) {
  const float inner = kGate == Gate::silu ? x : (x + 0.044715f * (x * x * x)) * 1.5957691216057308f;
  const float s = sizeof(T) == 2 ? sigmoid(inner) : exact_sigmoid(inner);
  value = x * s;
  if constexpr (kGate == Gate::silu) {
    slope = s * (1.0f + x * (1.0f - s));
  } else {
    slope = s + x * s * (1.0f - s) * ((1.0f + 0.134145f * (x * x)) * 1.5957691216057308f);
  }
}

template <class T, Gate kGate, int V>
__global__ void __launch_bounds__(kThreads) gate_rows(const T* gate_up, std::int64_t count, std::int64_t size, T* y) {
  const std::int64_t vectors = size / V, index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= count * vectors) return;
  const std::int64_t row = index / vectors, c = (index - row * vectors) * V;
  float gate[V], up[V];
  load<T, V>(gate_up + row * 2 * size + c, gate);
  load<T, V>(gate_up + row * 2 * size + size + c, up);
#pragma unroll
  for (int k = 0; k < V; ++k) {
    float value, slope;
    activate<T, kGate>(gate[k], value, slope);
    gate[k] = value * up[k];
  }
  store<T, V>(y + row * size + c, gate);
}

template <class T, Gate kGate, int V>
__global__ void __launch_bounds__(kThreads)
    gate_rows_backward(T* gate_up, std::int64_t count, std::int64_t size, T* dy) {
  const std::int64_t vectors = size / V, index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= count * vectors) return;
  const std::int64_t row = index / vectors, c = (index - row * vectors) * V;
  float gate[V], up[V], d[V];
  load<T, V>(gate_up + row * 2 * size + c, gate);
  load<T, V>(gate_up + row * 2 * size + size + c, up);
  load<T, V>(dy + row * size + c, d);
#pragma unroll
  for (int k = 0; k < V; ++k) {
    float value, slope;
    activate<T, kGate>(gate[k], value, slope);
    const float dgate = d[k] * up[k] * slope, dup = d[k] * value;
    d[k] = value * up[k];
    gate[k] = dgate;
    up[k] = dup;
  }
  store<T, V>(gate_up + row * 2 * size + c, gate);
  store<T, V>(gate_up + row * 2 * size + size + c, up);
  store<T, V>(dy + row * size + c, d);
}

// launch(kernel choice as T, gate, width) over all vectors.
template <class Use>
void with_shape(Element type, Gate gate, std::int64_t size, std::initializer_list<const void*> pointers,
                const Use& use) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const bool wide = is_wide<T>(size, pointers);
    auto with_gate = [&](auto of_gate) {
      if (wide) {
        use(zero, of_gate, std::integral_constant<int, kWide<T>>());
      } else {
        use(zero, of_gate, std::integral_constant<int, 1>());
      }
    };
    switch (gate) {
      case Gate::silu: return with_gate(std::integral_constant<Gate, Gate::silu>());
      case Gate::gelu_tanh: return with_gate(std::integral_constant<Gate, Gate::gelu_tanh>());
    }
  });
}

unsigned blocks_for(std::int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

}  // namespace

void gated(Element type, Gate gate, const void* gate_up, std::int64_t count, std::int64_t size, void* y,
           const Stream& stream) {
  if (count == 0) return;
  with_shape(type, gate, size, {gate_up, y}, [&](auto zero, auto of_gate, auto width) {
    using T = decltype(zero);
    gate_rows<T, of_gate.value, width.value><<<blocks_for(count * size / width.value), kThreads, 0, stream.get()>>>(
        static_cast<const T*>(gate_up), count, size, static_cast<T*>(y));
  });
  require_launched("gated");
}

void gated_backward(Element type, Gate gate, void* gate_up, std::int64_t count, std::int64_t size, void* dy,
                    const Stream& stream) {
  if (count == 0) return;
  with_shape(type, gate, size, {gate_up, dy}, [&](auto zero, auto of_gate, auto width) {
    using T = decltype(zero);
    gate_rows_backward<T, of_gate.value, width.value>
        <<<blocks_for(count * size / width.value), kThreads, 0, stream.get()>>>(static_cast<T*>(gate_up), count, size,
                                                                                static_cast<T*>(dy));
  });
  require_launched("gated_backward");
}

}  // namespace rlflow::cuda
