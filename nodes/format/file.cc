// How whole files are read.
#include "nodes/format/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "nodes/format/format_error.h"

namespace rlflow {

std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit) {
  std::ifstream stream(path, std::ios::binary);
  std::error_code error;
  std::uint64_t size = std::filesystem::file_size(path, error);
  if (!stream || error) throw FormatError("cannot read " + path.string());
  if (size > limit) {
    throw FormatError(path.string() + ": has " + std::to_string(size) + " bytes, the limit is " +
                      std::to_string(limit));
  }
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) throw FormatError("cannot read " + path.string());
  return text.str();
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    std::string reason = descriptor < 0 ? std::strerror(errno) : "not a regular file";
    if (descriptor >= 0) ::close(descriptor);
    throw FormatError("cannot read " + path.string() + ": " + reason);
  }
  size_ = static_cast<std::size_t>(status.st_size);
  void* mapped = size_ == 0 ? nullptr : ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  int mapping_error = errno;
  ::close(descriptor);
  if (mapped == MAP_FAILED) throw FormatError("cannot map " + path.string() + ": " + std::strerror(mapping_error));
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace rlflow
