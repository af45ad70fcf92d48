// How kernels of a generation step are launched and their element type is chosen. For .cu files.
#pragma once

#include <cuda_bf16.h>

#include "nodes/cuda/decode_rows.h"
#include "nodes/cuda/status.h"

namespace rlflow::cuda {

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, int threads, std::size_t shared, const Stream& stream,
            Arguments... arguments) {
  kernel<<<blocks, threads, shared, stream.get()>>>(arguments...);
  require_launched("a generation kernel");
}

template <class Body>
void with_element(Element element, const Body& body) {
  switch (element) {
    case Element::f32: return body(float{});
    case Element::bf16: return body(__nv_bfloat16{});
  }
}

}  // namespace rlflow::cuda
