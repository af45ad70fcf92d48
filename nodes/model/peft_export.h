// How adapters are written as a folder that PEFT reads.
#pragma once

#include <filesystem>
#include <vector>

#include "nodes/format/safetensors.h"
#include "nodes/model/lora.h"

namespace rlflow {

// Writes adapter_config.json and adapter_model.safetensors; `base` is the folder of the weights that they are added to,
// written as an absolute path. Throws std::runtime_error when a file cannot be written.
void write_peft_folder(const std::filesystem::path& folder, const std::filesystem::path& base,
                       const LoraSettings& settings, const std::vector<TensorView>& adapters);

}  // namespace rlflow
