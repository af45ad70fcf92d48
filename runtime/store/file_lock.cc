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

// Two bytes of the file are locked: who holds the first holds the file; who holds the second takes the first and
// writes its id, or reads the holder's. So nobody reads the id of a process that held the file before.
constexpr off_t kHeld = 0;
constexpr off_t kNamed = 1;

struct flock byte_lock(off_t byte, short type) {
  struct flock region {};
  region.l_type = type;
  region.l_whence = SEEK_SET;
  region.l_start = byte;
  region.l_len = 1;
  return region;
}

// Held for the moment that an id takes to be written or read; false with errno if it cannot be.
bool hold_name(int descriptor, short type) {
  struct flock region = byte_lock(kNamed, type);
  int result = 0;
  do {
    result = ::fcntl(descriptor, F_OFD_SETLKW, &region);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}
void release_name(int descriptor) {
  struct flock region = byte_lock(kNamed, F_UNLCK);
  ::fcntl(descriptor, F_OFD_SETLK, &region);
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
    if (!hold_name(held->number, F_WRLCK)) throw file_failure(errno, "lock", file);
    struct flock region = byte_lock(kHeld, F_WRLCK);
    if (::fcntl(held->number, F_OFD_SETLK, &region) != 0) {
      if (errno == EAGAIN || errno == EACCES) return nullptr;
      throw file_failure(errno, "lock", file);
    }
    if (!still_there(held->number, file)) continue;
    if (!write_process_id(held->number)) throw file_failure(errno, "write", file);
    release_name(held->number);
    return held;
  }
}

std::int64_t lock_holder(const std::filesystem::path& file) {
  Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.number < 0 || !hold_name(opened.number, F_RDLCK)) return 0;
  struct flock region = byte_lock(kHeld, F_RDLCK);
  if (::fcntl(opened.number, F_OFD_GETLK, &region) != 0 || region.l_type == F_UNLCK) return 0;
  char text[24] = {};
  return ::pread(opened.number, text, sizeof text - 1, 0) > 0 ? std::strtoll(text, nullptr, 10) : 0;
}

}  // namespace rlflow
