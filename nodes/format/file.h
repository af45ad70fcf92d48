// How whole files are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace rlflow {

// Throws FormatError naming the path when it cannot be read or is larger than `limit` bytes.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit);

// A file's bytes mapped read-only for the object's life. The file must not be cut while it is mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // throws FormatError naming the path
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace rlflow
