// Gated activations (Shazeer 2020): y = activation(gate)·up of gate_up [count, 2·size].
#pragma once

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

// silu(x) = x·σ(x); gelu in its tanh form, ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
enum class Gate { silu, gelu_tanh };

// y [count, size].
void gated(Element type, Gate gate, const void* gate_up, std::int64_t count, std::int64_t size, void* y,
           const Stream& stream);

// With dy [count, size] the gradient of y: gate_up becomes its gradient and dy becomes y, which the gradient of the
// next matrix needs.
void gated_backward(Element type, Gate gate, void* gate_up, std::int64_t count, std::int64_t size, void* dy,
                    const Stream& stream);

}  // namespace rlflow::cuda
