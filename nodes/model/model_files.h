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

// The part "parameters" of a checkpoint. Reading checks names, shapes and dtypes first and throws FormatError.
void write_parameters(const ParameterLayout& layout, const float* parameters, ByteSink& sink);
void read_parameters(std::span<const std::byte> bytes, const ModelConfig& config, const ParameterLayout& layout,
                     float* parameters);

// The part "optimizer": both moments, laid out as the parameters, and the number of steps applied.
void write_moments(const ParameterLayout& layout, const float* moment1, const float* moment2, std::int64_t steps,
                   ByteSink& sink);
std::int64_t read_moments(std::span<const std::byte> bytes, const ParameterLayout& layout, float* moment1,
                          float* moment2);

// Prefixes of the moments' names in files and in digests.
inline constexpr const char* kMoment1 = "exp_avg.";
inline constexpr const char* kMoment2 = "exp_avg_sq.";

// Writes a Hugging Face folder; tokenizer files are those of `source`.
void export_weights(const std::filesystem::path& source, const std::filesystem::path& folder, const ModelConfig& config,
                    const ParameterLayout& layout, const float* parameters);

// Name of the first parameter that differs from those in a saved part "parameters"; empty if none.
std::string first_differing(std::span<const std::byte> bytes, const ParameterLayout& layout, const float* parameters);

}  // namespace rlflow
