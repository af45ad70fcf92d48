// Kernels that begin before the one ahead of them in the stream has ended: they load what it does not write, then wait.
#pragma once

#include "nodes/cuda/decode_launch.h"

namespace rlflow::cuda {

// Lets the next kernel of the stream begin. Called first of all, so that its blocks are resident when they are needed.
__device__ inline void let_next_begin() { cudaTriggerProgrammaticLaunchCompletion(); }
// All that earlier kernels wrote is there after this. Nothing may be written before it.
__device__ inline void wait_for_earlier() { cudaGridDependencySynchronize(); }

// `cluster` blocks that adjoin along z are resident at once and see each other's shared memory.
template <class... Parameters, class... Arguments>
void launch_dependent_clusters(int cluster, void (*kernel)(Parameters...), dim3 blocks, int threads, std::size_t shared,
                               const Stream& stream, Arguments... arguments) {
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {1, 1, static_cast<unsigned>(cluster)};
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = stream.get();
  config.attrs = attributes;
  config.numAttrs = cluster > 1 ? 2 : 1;
  require(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), "a generation kernel");
}

template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), dim3 blocks, int threads, std::size_t shared, const Stream& stream,
                      Arguments... arguments) {
  launch_dependent_clusters(1, kernel, blocks, threads, shared, stream, arguments...);
}

// So much dynamic shared memory, of as many blocks as fit.
template <class Kernel>
void allow_shared(Kernel kernel, std::size_t bytes) {
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
          "cudaFuncSetAttribute");
  if (bytes <= 48 << 10) return;
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "cudaFuncSetAttribute");
}

}  // namespace rlflow::cuda
