// Which generator samples on a device?
#include "nodes/rollout/generate.h"

#include <stdexcept>

#include "nodes/rollout/cpu_generator.h"

namespace rlflow {

std::unique_ptr<Generator> make_generator(DeviceKind device) {
  if (device != DeviceKind::cpu) throw std::runtime_error("this build has no GPU backend; use a group on the cpu");
  return std::make_unique<CpuGenerator>();
}

}  // namespace rlflow
