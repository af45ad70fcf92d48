// Which implementation computes on a device?
#include "nodes/model/backend.h"

#include <stdexcept>

#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"

namespace rlflow {
namespace {

void require_cpu(DeviceKind device) {
  if (device != DeviceKind::cpu) throw std::runtime_error("this build has no GPU backend; use a group on the cpu");
}

}  // namespace

std::unique_ptr<LanguageModel> load_model(const std::filesystem::path& folder, const ModelPlace& place,
                                          const ModelForm& form) {
  require_cpu(place.device);
  return CpuModel::load_folder(folder, place.threads, form);
}

std::unique_ptr<LanguageModel> draw_model(const std::filesystem::path& folder, std::uint64_t seed,
                                          const ModelPlace& place, const ModelForm& form) {
  require_cpu(place.device);
  return CpuModel::draw(folder, seed, place.threads, form);
}

std::unique_ptr<Passes> make_passes(DeviceKind device) {
  require_cpu(device);
  return std::make_unique<CpuPasses>();
}

}  // namespace rlflow
