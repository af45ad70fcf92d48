// How weights are written as a Hugging Face folder.
#include "nodes/model/weights_export.h"

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "nodes/format/json.h"

namespace rlflow {
namespace {

class FileSink final : public ByteSink {
 public:
  explicit FileSink(const std::filesystem::path& path) : path_(path), stream_(path, std::ios::binary) {}
  void write(std::span<const std::byte> data) override {
    stream_.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  }
  void close() {
    stream_.close();
    if (!stream_) throw std::runtime_error("cannot write " + path_.string());
  }

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
};

std::string shard_name(std::size_t i, std::size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1, count);
  return name;
}

}  // namespace

void write_text(const std::filesystem::path& path, const std::string& text) {
  FileSink sink(path);
  sink.write(std::as_bytes(std::span(text)));
  sink.close();
}

void write_safetensors_file(const std::filesystem::path& path, std::vector<TensorView> tensors) {
  FileSink sink(path);
  write_safetensors(sink, std::move(tensors), {{"format", "pt"}});
  sink.close();
}

void copy_tokenizer_files(const std::filesystem::path& from, const std::filesystem::path& to) {
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    const bool described = name == "generation_config.json" || name == "special_tokens_map.json" ||
                           name == "chat_template.jinja" || name.starts_with("tokenizer");
    if (entry.is_regular_file() && described) std::filesystem::copy_file(entry.path(), to / name);
  }
}

void write_weights(const std::filesystem::path& folder, const std::vector<TensorView>& tensors, std::uint64_t largest) {
  std::vector<std::vector<TensorView>> files(1);
  std::uint64_t total = 0, here = 0;
  for (const TensorView& tensor : tensors) {
    total += tensor.data.size();
    if (!files.back().empty() && here + tensor.data.size() > largest) {
      files.emplace_back();
      here = 0;
    }
    here += tensor.data.size();
    files.back().push_back(tensor);
  }
  if (files.size() == 1) return write_safetensors_file(folder / "model.safetensors", std::move(files[0]));
  nlohmann::json index = {{"metadata", {{"total_size", total}}}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = shard_name(i, files.size());
    for (const TensorView& tensor : files[i]) index["weight_map"][tensor.name] = name;
    write_safetensors_file(folder / name, std::move(files[i]));
  }
  write_text(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}

}  // namespace rlflow
