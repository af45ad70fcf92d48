// How a flat buffer of parameters (or moments) is saved to and loaded from safetensors.
#pragma once

#include <map>
#include <span>
#include <string>

#include "nodes/format/safetensors.h"
#include "nodes/format/weight_files.h"
#include "nodes/model/parameters.h"

namespace rlflow {

// A view of every slot of `values` under `prefix` + its name.
std::vector<TensorView> slot_views(const SlotTable& layout, const float* values, const std::string& prefix);

// Checks that `file` holds, under `prefix`, an f32 tensor of the right shape for each of `slots`. Throws FormatError
// naming tensor and offset.
void check_slots(const SafetensorsFile& file, std::span<const ParameterSlot> slots, const std::string& prefix);
// Copies the checked tensors into `values`.
void copy_slots(const SafetensorsFile& file, std::span<const ParameterSlot> slots, const std::string& prefix,
                float* values);

// The same for the weights of a folder, which may be f32, bf16 or f16 and are widened exactly.
void check_slots(const WeightFiles& files, std::span<const ParameterSlot> slots);
void copy_slots(const WeightFiles& files, std::span<const ParameterSlot> slots, float* values);

}  // namespace rlflow
