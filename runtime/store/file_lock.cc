// Locks of open files (OFD): they end with the process, whatever kills it, and exclude threads of one process too.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/store/file_layer.h"

namespace rlflow {
namespace {

class Descriptor final : public FileLock {
 public:
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() override {
    if (number >= 0) ::close(number);
  }
  const int number;
};

struct flock whole_file(short type) {
  struct flock region {};
  region.l_type = type;
  region.l_whence = SEEK_SET;
  return region;
}

bool write_process_id(int descriptor) {
  std::string id = std::to_string(::getpid()) + "\n";
  return ::ftruncate(descriptor, 0) == 0 && ::pwrite(descriptor, id.data(), id.size(), 0) > 0;
}

// A lock file that was removed while it was held locks nobody out: the path must still mean this open file.
bool still_there(int descriptor, const std::filesystem::path& file) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::stat(file.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

std::unique_ptr<FileLock> PosixFiles::lock(const Path& file) {
  for (;;) {
    auto held = std::make_unique<Descriptor>(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (held->number < 0) {
      throw StoreError(ExitCode::person_must_act, "R0211",
                       "cannot open `" + file.string() + "`: " + std::strerror(errno),
                       "make the folder writable, or copy the run elsewhere");
    }
    struct flock region = whole_file(F_WRLCK);
    if (::fcntl(held->number, F_OFD_SETLK, &region) != 0) {
      if (errno == EAGAIN || errno == EACCES) return nullptr;
      throw file_failure(errno, "lock", file);
    }
    if (!still_there(held->number, file)) continue;
    if (!write_process_id(held->number)) throw file_failure(errno, "write", file);
    return held;
  }
}

std::int64_t lock_holder(const std::filesystem::path& file) {
  Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.number < 0) return 0;
  struct flock region = whole_file(F_RDLCK);
  if (::fcntl(opened.number, F_OFD_GETLK, &region) != 0 || region.l_type == F_UNLCK) return 0;
  char text[24] = {};
  return ::pread(opened.number, text, sizeof text - 1, 0) > 0 ? std::strtoll(text, nullptr, 10) : 0;
}

}  // namespace rlflow
