// The safetensors of a model folder: model.safetensors, or several files under model.safetensors.index.json.
#include "nodes/format/weight_files.h"

#include <algorithm>
#include <set>

#include "nodes/format/file.h"
#include "nodes/format/json.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kMaxIndexBytes = 16u << 20;
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// A name inside the folder: the index cannot reach elsewhere.
bool is_plain_name(const std::string& name) {
  return name.ends_with(".safetensors") && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

// weight_map of the index: tensor → file.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const Json root = parse_json(read_text_file(path, kMaxIndexBytes), path.string());
  const Json* map = root.is_object() && root.contains("weight_map") ? &root["weight_map"] : nullptr;
  if (!map || !map->is_object() || map->empty()) throw FormatError(path.string() + ": has no weight_map");
  if (map->size() > kMaxSafetensorsTensors) {
    throw FormatError(path.string() + ": more than " + std::to_string(kMaxSafetensorsTensors) + " tensors");
  }
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !is_plain_name(file.get<std::string>())) {
      throw FormatError(path.string() + ": weight_map of " + json_quoted(tensor) + " is " + file.dump().substr(0, 80) +
                        ", it must be the name of a .safetensors file in the folder");
    }
    files[tensor] = file.get<std::string>();
  }
  return files;
}

[[noreturn]] void no_weights(const fs::path& folder) {
  if (fs::exists(folder / "pytorch_model.bin") || fs::exists(folder / "pytorch_model.bin.index.json")) {
    throw FormatError(folder.string() +
                      ": pytorch_model.bin is never read; convert it to model.safetensors "
                      "(from_pretrained, then save_pretrained)");
  }
  throw FormatError(folder.string() + ": has no " + kSingle + " and no " + kIndex);
}

std::set<std::string> file_names(const std::map<std::string, std::string>& files) {
  std::set<std::string> names;
  for (const auto& [tensor, file] : files) names.insert(file);
  return names;
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& folder) : folder_(folder.string()) {
  const fs::path index = folder / kIndex;
  if (fs::exists(folder / kSingle)) {
    add_file(folder / kSingle);
  } else if (fs::exists(index)) {
    const std::map<std::string, std::string> files = read_index(index);
    const std::set<std::string> names = file_names(files);
    if (names.size() > kMaxWeightFiles) {
      throw FormatError(index.string() + ": names " + std::to_string(names.size()) + " files, the limit is " +
                        std::to_string(kMaxWeightFiles));
    }
    for (const std::string& name : names) add_file(folder / name);
    check_index(index, files);
  } else {
    no_weights(folder);
  }
  std::sort(tensors_.begin(), tensors_.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
}

void WeightFiles::add_file(const fs::path& path) {
  const MappedFile mapped(path);
  const SafetensorsFile file(mapped.bytes(), path.string());
  for (const TensorView& view : file.tensors()) {
    tensors_.push_back({view.name, view.type, view.shape, paths_.size(), view.file_offset, view.data.size()});
  }
  paths_.push_back(path);
  sizes_.push_back(mapped.bytes().size());
}

// Every tensor of the index stands in its file, and every tensor of the files in the index; so none stands twice.
void WeightFiles::check_index(const fs::path& index, const std::map<std::string, std::string>& files) const {
  std::set<std::pair<std::string, std::string>> held;
  for (const Tensor& tensor : tensors_) {
    const std::string file = paths_[tensor.file].filename().string();
    held.emplace(tensor.name, file);
    const auto named = files.find(tensor.name);
    if (named == files.end() || named->second != file) {
      throw FormatError(index.string() + ": weight_map does not have " + json_quoted(tensor.name) + " in " + file +
                        ", where it stands");
    }
  }
  for (const auto& named : files) {
    if (!held.contains(named)) {
      throw FormatError(index.string() + ": tensor " + json_quoted(named.first) + " does not stand in " + named.second);
    }
  }
}

const WeightFiles::Tensor* WeightFiles::find(std::string_view name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const Tensor& tensor, std::string_view n) { return tensor.name < n; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

std::string WeightFiles::place(const Tensor& tensor) const {
  return paths_[tensor.file].string() + ": tensor " + json_quoted(tensor.name) + " at offset " +
         std::to_string(tensor.offset);
}

void WeightFiles::read(const std::function<void(const Tensor&, std::span<const std::byte>)>& use) const {
  for (std::size_t file = 0; file < paths_.size(); ++file) {
    const MappedFile mapped(paths_[file]);
    if (mapped.bytes().size() != sizes_[file]) {
      throw FormatError(paths_[file].string() + ": has changed while it was read");
    }
    for (const Tensor& tensor : tensors_) {
      if (tensor.file == file) use(tensor, mapped.bytes().subspan(tensor.offset, tensor.bytes));
    }
  }
}

std::vector<fs::path> weight_paths(const fs::path& folder) {
  if (fs::exists(folder / kSingle) || !fs::exists(folder / kIndex)) return {folder / kSingle};
  std::vector<fs::path> paths{folder / kIndex};
  for (const std::string& name : file_names(read_index(folder / kIndex))) paths.push_back(folder / name);
  return paths;
}

}  // namespace rlflow
