// Which generator samples on a device?
#include "nodes/rollout/generate.h"

#include <stdexcept>

#include "nodes/rollout/cpu_generator.h"
#ifdef RLFLOW_CUDA
#include "nodes/rollout/cuda_generator.h"
#endif

namespace rlflow {

std::unique_ptr<Generator> make_generator(DeviceKind device) {
  if (device == DeviceKind::cpu) return std::make_unique<CpuGenerator>();
#ifdef RLFLOW_CUDA
  return std::make_unique<CudaGenerator>();
#else
  throw std::runtime_error("this build has no GPU backend; use a group on the cpu, or build with ./dev build --cuda");
#endif
}

}  // namespace rlflow
