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

#ifdef RLFLOW_CUDA
void refuse_adapters(const ModelForm& form) {
  if (form.lora)
    throw std::runtime_error("`lora` is not there on a GPU yet; train the whole model, or use a group on the cpu");
}
#endif

}  // namespace

std::unique_ptr<LanguageModel> load_model(const std::filesystem::path& folder, const ModelPlace& place,
                                          const ModelForm& form) {
  if (place.device == DeviceKind::cpu) return CpuModel::load_folder(folder, place.threads, form);
#ifdef RLFLOW_CUDA
  refuse_adapters(form);
  return CudaModel::load_folder(folder, place, form.head);
#else
  refuse_gpu();
#endif
}

std::unique_ptr<LanguageModel> draw_model(const std::filesystem::path& folder, std::uint64_t seed,
                                          const ModelPlace& place, const ModelForm& form) {
  if (place.device == DeviceKind::cpu) return CpuModel::draw(folder, seed, place.threads, form);
#ifdef RLFLOW_CUDA
  refuse_adapters(form);
  return CudaModel::draw(folder, seed, place, form.head);
#else
  refuse_gpu();
#endif
}

std::unique_ptr<LanguageModel> copy_to(const LanguageModel& model, const std::filesystem::path& folder,
                                       const ModelPlace& place, const ModelForm& form) {
  if (form.lora) {
    throw std::runtime_error(
        "a model with `lora` and its replica stand on one kind of device; give both the same group");
  }
  if (place.device == DeviceKind::cpu) {
    return CpuModel::of_weights(folder, model.weights_on_host(), place.threads, form);
  }
#ifdef RLFLOW_CUDA
  const at::Tensor weights = model.weights_on_host();
  std::unique_ptr<CudaModel> copy = CudaModel::allocate(folder, place, form.head);
  copy->set_parameters(floats(weights));
  return copy;
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

std::vector<Gpu> usable_gpus() {
  std::vector<Gpu> gpus;
  for (int i = 0; i < cuda::device_count(); ++i) {
    const cuda::DeviceFacts facts = cuda::device_facts(i);
    Gpu gpu;
    gpu.name = facts.name;
    gpu.memory_bytes = static_cast<std::uint64_t>(facts.memory);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}
bool has_gpu_code() { return true; }
#else
std::vector<Gpu> usable_gpus() { return {}; }
bool has_gpu_code() { return false; }
void enter_gpu(std::int32_t) { refuse_gpu(); }
std::map<std::string, std::string> gpu_facts(std::int32_t) { refuse_gpu(); }
#endif

}  // namespace rlflow
