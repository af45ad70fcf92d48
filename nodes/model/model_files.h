// What a model in memory and its files say to each other, wherever the model computes: all in host memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "nodes/format/model_config.h"
#include "nodes/format/safetensors.h"
#include "nodes/model/parameters.h"
#include "runtime/contract/payload.h"

namespace rlflow {

// f32[layout.size] of the weights in `folder`. Everything is checked before memory is taken; a value head that the
// folder does not have starts as 0. Throws FormatError.
at::Tensor read_weights(const std::filesystem::path& folder, const ModelConfig& config, const ParameterLayout& layout);

// The part "parameters" of a checkpoint: what is trained, a whole model or adapters. Reading checks names, shapes and
// dtypes first and throws FormatError.
void write_parameters(const SlotTable& table, const float* parameters, ByteSink& sink);
void read_parameters(std::span<const std::byte> bytes, const ModelConfig& config, const ParameterLayout& layout,
                     float* parameters);
void read_adapters(std::span<const std::byte> bytes, const SlotTable& table, float* adapters);

// The part "optimizer": both moments, laid out as what is trained, and the number of steps applied.
void write_moments(const SlotTable& table, const float* moment1, const float* moment2, std::int64_t steps,
                   ByteSink& sink);
std::int64_t read_moments(std::span<const std::byte> bytes, const SlotTable& table, float* moment1, float* moment2);

// Prefixes of the moments' names in files and in digests, and of the master's in digests alone.
inline constexpr const char* kMoment1 = "exp_avg.";
inline constexpr const char* kMoment2 = "exp_avg_sq.";
inline constexpr const char* kMaster = "master.";

// Writes a Hugging Face folder, its weights in `dtype` (rounded where that is bf16); tokenizer files are those of
// `source`. `threads` share the rounding.
void export_weights(const std::filesystem::path& source, const std::filesystem::path& folder, const ModelConfig& config,
                    const ParameterLayout& layout, const float* parameters, Dtype dtype, std::int32_t threads);

// Name of the first parameter that differs from those in a saved part "parameters"; empty if none.
std::string first_differing(std::span<const std::byte> bytes, const SlotTable& table, const float* parameters);

}  // namespace rlflow
