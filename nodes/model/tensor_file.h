// How a flat buffer of parameters (or moments) is saved to and loaded from safetensors.
#pragma once

#include <map>
#include <span>
#include <string>

#include "nodes/format/safetensors.h"
#include "nodes/model/parameters.h"

namespace rlflow {

// A view of every slot of `values` under `prefix` + its name.
std::vector<TensorView> slot_views(const ParameterLayout& layout, const float* values, const std::string& prefix);

// Checks that `file` holds, under `prefix`, a tensor of the right shape for each of `slots`, of type f32 (or bf16 or
// f16 where `convert`). Throws FormatError naming tensor and offset.
void check_slots(const SafetensorsFile& file, std::span<const ParameterSlot> slots, const std::string& prefix,
                 bool convert);

// Copies the checked tensors into `values`, widening bf16 and f16.
void copy_slots(const SafetensorsFile& file, std::span<const ParameterSlot> slots, const std::string& prefix,
                float* values);

}  // namespace rlflow
