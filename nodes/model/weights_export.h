// How weights are written as a Hugging Face folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nodes/format/safetensors.h"

namespace rlflow {

// Bytes of tensors above which weights are cut into several files, as transformers does by default.
inline constexpr std::uint64_t kLargestWeightFile = 5'000'000'000;

// Throws std::runtime_error when the file cannot be written.
void write_text(const std::filesystem::path& path, const std::string& text);

// One file of tensors. Throws as write_text.
void write_safetensors_file(const std::filesystem::path& path, std::vector<TensorView> tensors);

// Copies what describes the tokenizer, its chat template and generation, where it is there.
void copy_tokenizer_files(const std::filesystem::path& from, const std::filesystem::path& to);

// Writes model.safetensors, or model-00001-of-0000N.safetensors … and model.safetensors.index.json where the tensors
// take more than `largest` bytes together. Tensors keep their order; a file holds as many as fit, at least one.
void write_weights(const std::filesystem::path& folder, const std::vector<TensorView>& tensors, std::uint64_t largest);

}  // namespace rlflow
