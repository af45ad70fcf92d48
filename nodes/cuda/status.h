// Checks of the status that CUDA's calls return. Only nodes/cuda includes this.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <source_location>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

// Throws CudaFailure, or OutOfDeviceMemory, naming `call` and the place. Clears an error that is not sticky.
void require(cudaError_t status, const char* call, std::source_location at = std::source_location::current());
void require(cublasStatus_t status, const char* call, std::source_location at = std::source_location::current());

// After a launch.
inline void require_launched(const char* kernel, std::source_location at = std::source_location::current()) {
  require(cudaGetLastError(), kernel, at);
}

}  // namespace rlflow::cuda
