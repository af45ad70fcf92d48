// Which implementation computes on a device?
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nodes/model/language_model.h"
#include "nodes/model/passes.h"
#include "runtime/contract/cluster.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Where a model stands and what its passes run on.
struct ModelPlace {
  DeviceKind device = DeviceKind::cpu;
  std::int32_t index = 0;    // of the GPU
  std::int32_t threads = 1;  // of the CPU
  Dtype dtype = Dtype::f32;
  bool trainable = false;  // will get an optimizer
};

// Reads `folder` (Hugging Face layout: config.json, model.safetensors or several files with an index). Everything is
// checked before memory for the parameters is taken. A value head that the folder does not have starts as 0, so that
// every value is 0; a reward head must be there. Throws FormatError; std::runtime_error where this build has no backend
// for the device or dtype.
std::unique_ptr<LanguageModel> load_model(const std::filesystem::path& folder, const ModelPlace& place,
                                          const ModelForm& form = {});
// Shape and tokenizer of `folder`, weights drawn with `seed`.
std::unique_ptr<LanguageModel> draw_model(const std::filesystem::path& folder, std::uint64_t seed,
                                          const ModelPlace& place, const ModelForm& form = {});

// A frozen copy on another device, for a replica: the same weights, in the dtype of `place`. `folder` is that of the
// model. Throws std::runtime_error where the model has adapters.
std::unique_ptr<LanguageModel> copy_to(const LanguageModel& model, const std::filesystem::path& folder,
                                       const ModelPlace& place, const ModelForm& form);

// For models on a device of that kind.
std::unique_ptr<Passes> make_passes(DeviceKind device);

// The GPUs that this build can use: none in a build without GPU code, and where there is no driver or device.
std::vector<Gpu> usable_gpus();
// Whether this build has code for GPUs.
bool has_gpu_code();

// Makes a GPU the one that the calling thread uses. Throws std::runtime_error where this build or machine has none.
void enter_gpu(std::int32_t index);

// Model, driver and library versions of a GPU, for the record of a run.
std::map<std::string, std::string> gpu_facts(std::int32_t index);

}  // namespace rlflow
