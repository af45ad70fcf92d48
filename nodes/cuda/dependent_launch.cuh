// Kernels that begin before the one ahead of them in the stream has ended: they load what it does not write, then wait.
#pragma once

#include "nodes/cuda/decode_launch.h"

namespace rlflow::cuda {

// Lets the next kernel of the stream begin. Called first of all, so that its blocks are resident when they are needed.
__device__ inline void let_next_begin() { cudaTriggerProgrammaticLaunchCompletion(); }
// All that earlier kernels wrote is there after this. Nothing may be written before it.
__device__ inline void wait_for_earlier() { cudaGridDependencySynchronize(); }

template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), dim3 blocks, int threads, std::size_t shared, const Stream& stream,
                      Arguments... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = stream.get();
  config.attrs = &attribute;
  config.numAttrs = 1;
  require(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), "a generation kernel");
}

}  // namespace rlflow::cuda
