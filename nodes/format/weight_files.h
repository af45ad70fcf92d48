// The safetensors of a model folder: model.safetensors, or several files under model.safetensors.index.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/safetensors.h"

namespace rlflow {

inline constexpr std::size_t kMaxWeightFiles = 1024;

// What the headers of the files say. Each file is open only while its header, or later its data, is read.
class WeightFiles {
 public:
  struct Tensor {
    std::string name;
    TensorType type = TensorType::f32;
    std::vector<std::uint64_t> shape;
    std::size_t file = 0;  // index into paths()
    std::uint64_t offset = 0, bytes = 0;
  };

  // Reads index and headers. Throws FormatError where a file is missing or damaged, where the index and the files
  // disagree, where a tensor stands twice, and where the folder has only weights in a form that is never read.
  explicit WeightFiles(const std::filesystem::path& folder);

  const std::vector<Tensor>& tensors() const { return tensors_; }  // names ascending
  const Tensor* find(std::string_view name) const;
  const std::vector<std::filesystem::path>& paths() const { return paths_; }
  // How a message names a tensor: file, name, offset.
  std::string place(const Tensor& tensor) const;
  const std::string& folder() const { return folder_; }

  // Calls use(tensor, data) for the tensors, file after file; one file is mapped at a time. Throws FormatError when a
  // file has changed its size since its header was read.
  void read(const std::function<void(const Tensor&, std::span<const std::byte>)>& use) const;

 private:
  void add_file(const std::filesystem::path& path);
  void check_index(const std::filesystem::path& index, const std::map<std::string, std::string>& files) const;

  std::string folder_;
  std::vector<std::filesystem::path> paths_;
  std::vector<std::uint64_t> sizes_;
  std::vector<Tensor> tensors_;
};

// The files whose bytes decide a folder's weights: the index, where there is one, and every file. Throws as above.
std::vector<std::filesystem::path> weight_paths(const std::filesystem::path& folder);

}  // namespace rlflow
