// Which implementation computes on a device?
#include "nodes/model/backend.h"

#include <stdexcept>

#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"
#ifdef RLFLOW_CUDA
#include "nodes/model/cuda_model.h"
#include "nodes/model/cuda_passes.h"
#endif

namespace rlflow {
namespace {

#ifndef RLFLOW_CUDA
[[noreturn]] void refuse_gpu() {
  throw std::runtime_error("this build has no GPU backend; use a group on the cpu, or build with ./dev build --cuda");
}
#endif

void require_f32(const ModelPlace& place) {
  if (place.dtype != Dtype::f32) throw std::runtime_error("on the cpu this build computes in f32 only");
}

}  // namespace

std::unique_ptr<LanguageModel> load_model(const std::filesystem::path& folder, const ModelPlace& place, Head head) {
  if (place.device == DeviceKind::cpu) {
    require_f32(place);
    return CpuModel::load_folder(folder, place.threads, head);
  }
#ifdef RLFLOW_CUDA
  return CudaModel::load_folder(folder, place, head);
#else
  refuse_gpu();
#endif
}

std::unique_ptr<LanguageModel> draw_model(const std::filesystem::path& folder, std::uint64_t seed,
                                          const ModelPlace& place, Head head) {
  if (place.device == DeviceKind::cpu) {
    require_f32(place);
    return CpuModel::draw(folder, seed, place.threads, head);
  }
#ifdef RLFLOW_CUDA
  return CudaModel::draw(folder, seed, place, head);
#else
  refuse_gpu();
#endif
}

std::unique_ptr<Passes> make_passes(DeviceKind device) {
  if (device == DeviceKind::cpu) return std::make_unique<CpuPasses>();
#ifdef RLFLOW_CUDA
  return std::make_unique<CudaPasses>();
#else
  refuse_gpu();
#endif
}

#ifdef RLFLOW_CUDA
void enter_gpu(std::int32_t index) {
  cuda::use_device(index);
  const cuda::DeviceFacts facts = cuda::device_facts(index);
  if (facts.capability != cuda::kCapability) {
    throw std::runtime_error("GPU " + std::to_string(index) + ", " + facts.name + ", has compute capability " +
                             std::to_string(facts.capability / 10) + "." + std::to_string(facts.capability % 10) +
                             "; this build has code for 9.0 only");
  }
}

std::map<std::string, std::string> gpu_facts(std::int32_t index) {
  const cuda::CudaVersions versions = cuda::cuda_versions();
  return {{"gpu", cuda::device_facts(index).name},
          {"cuda driver", versions.driver},
          {"cuda runtime", versions.runtime},
          {"cublas", versions.cublas}};
}
#else
void enter_gpu(std::int32_t) { refuse_gpu(); }
std::map<std::string, std::string> gpu_facts(std::int32_t) { refuse_gpu(); }
#endif

}  // namespace rlflow
