// Durable files by POSIX calls; every failure names path, position and cause.
#include "runtime/store/file_layer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rlflow {
namespace {

[[noreturn]] void fail(const std::string& doing, const std::filesystem::path& path, const std::string& where = {}) {
  throw file_failure(errno, doing, path, where);
}

class PosixFile final : public OutputFile {
 public:
  explicit PosixFile(std::filesystem::path path) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) fail("create", path_);
  }
  ~PosixFile() override { ::close(descriptor_); }

  void write(std::span<const std::byte> data) override {
    while (!data.empty()) {
      ssize_t count = ::write(descriptor_, data.data(), data.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("write", path_, " at byte " + std::to_string(written_));
      written_ += static_cast<std::uint64_t>(count);
      data = data.subspan(static_cast<std::size_t>(count));
    }
  }
  void sync() override {
    if (::fsync(descriptor_) != 0) fail("sync", path_, " of " + std::to_string(written_) + " bytes");
  }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
};

}  // namespace

StoreError file_failure(int error, const std::string& doing, const std::filesystem::path& path,
                        const std::string& where) {
  return StoreError(ExitCode::person_must_act, "R0206",
                    "cannot " + doing + " `" + path.string() + "`" + where + ": " + std::strerror(error),
                    error == ENOSPC || error == EDQUOT ? "free space, then resume the run"
                                                       : "fix the file or its folder, then resume the run");
}

std::unique_ptr<OutputFile> PosixFiles::create(const Path& file) { return std::make_unique<PosixFile>(file); }

void PosixFiles::rename(const Path& from, const Path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail("rename", from, " to `" + to.string() + "`");
}

bool PosixFiles::link(const Path& from, const Path& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return true;
  if (errno == EXDEV || errno == EPERM || errno == EMLINK || errno == EOPNOTSUPP) return false;
  fail("link", from, " to `" + to.string() + "`");
}

void PosixFiles::make_folder(const Path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail("make folder", folder);
}

void PosixFiles::sync_folder(const Path& folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail("open folder", folder);
  int result = ::fsync(descriptor);
  int error = errno;
  ::close(descriptor);
  errno = error;
  if (result != 0) fail("sync folder", folder);
}

void PosixFiles::remove(const Path& file) {
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) fail("remove", file);
}

void PosixFiles::remove_folder(const Path& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (error) throw file_failure(error.value(), "remove folder", folder);
}

std::vector<std::byte> PosixFiles::read(const Path& file) {
  int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", file);
  struct stat status {};
  std::vector<std::byte> bytes(::fstat(descriptor, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0);
  std::size_t done = 0;
  ssize_t count = 0;
  while (done < bytes.size() && (count = ::read(descriptor, bytes.data() + done, bytes.size() - done)) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    done += static_cast<std::size_t>(count);
  }
  int error = errno;
  ::close(descriptor);
  errno = error;
  if (count < 0) fail("read", file, " at byte " + std::to_string(done));
  bytes.resize(done);
  return bytes;
}

std::optional<std::uint64_t> PosixFiles::size(const Path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0) return static_cast<std::uint64_t>(status.st_size);
  if (errno != ENOENT && errno != ENOTDIR) fail("look at", file);
  return std::nullopt;
}

std::vector<std::filesystem::path> PosixFiles::list(const Path& folder) {
  std::vector<Path> entries;
  std::error_code error;
  std::filesystem::directory_iterator next(folder, error);
  for (const auto end = std::filesystem::directory_iterator(); !error && next != end; next.increment(error)) {
    entries.push_back(next->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) throw file_failure(error.value(), "list", folder);
  std::sort(entries.begin(), entries.end());
  return entries;
}

void require_readable(const std::filesystem::path& file) {
  int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  int error = descriptor < 0 && errno != ENOENT ? errno : 0;
  std::uint64_t done = 0;
  std::vector<std::byte> buffer(1 << 16);
  for (ssize_t count = 1; descriptor >= 0 && count > 0;) {
    count = ::read(descriptor, buffer.data(), buffer.size());
    if (count > 0) done += static_cast<std::uint64_t>(count);
    if (count < 0) error = errno;
  }
  if (descriptor >= 0) ::close(descriptor);
  if (error != 0) throw file_failure(error, "read", file, " at byte " + std::to_string(done));
}

void publish_text(FileLayer& files, const std::filesystem::path& folder, const std::string& name,
                  const std::string& text) {
  std::filesystem::path temporary = folder / (name + ".new");
  files.remove(temporary);
  auto file = files.create(temporary);
  file->write(std::as_bytes(std::span(text)));
  file->sync();
  files.rename(temporary, folder / name);
  files.sync_folder(folder);
}

void make_durable_folders(FileLayer& files, const std::filesystem::path& folder) {
  if (folder.empty() || files.size(folder)) return;
  make_durable_folders(files, folder.parent_path());
  files.make_folder(folder);
  files.sync_folder(folder.parent_path());
}

}  // namespace rlflow
