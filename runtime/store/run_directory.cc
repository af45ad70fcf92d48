// Run folders and their lock.
#include "runtime/store/run_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

struct flock whole_file(short type) {
  struct flock region {};
  region.l_type = type;
  region.l_whence = SEEK_SET;
  return region;
}

std::int64_t pid_in(int descriptor) {
  char text[24] = {};
  ssize_t count = ::pread(descriptor, text, sizeof text - 1, 0);
  return count > 0 ? std::strtoll(text, nullptr, 10) : 0;
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& run_dir) {
  std::filesystem::path file = run_dir / "lock";
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) {
    throw StoreError(ExitCode::person_must_act, "R0211", "cannot open `" + file.string() + "`: " + std::strerror(errno),
                     "make the folder writable, or copy the run elsewhere");
  }
  struct flock region = whole_file(F_WRLCK);
  if (::fcntl(descriptor_, F_OFD_SETLK, &region) != 0) {
    std::int64_t holder = pid_in(descriptor_);
    ::close(descriptor_);
    throw StoreError(ExitCode::store_damaged, "R0201",
                     "run `" + run_dir.string() + "` is in use by process " + std::to_string(holder),
                     "wait for it or pause it (Ctrl-C), then try again");
  }
  std::string pid = std::to_string(::getpid()) + "\n";
  bool written = ::ftruncate(descriptor_, 0) == 0 && ::pwrite(descriptor_, pid.data(), pid.size(), 0) > 0;
  if (!written) {
    std::string cause = std::strerror(errno);
    ::close(descriptor_);
    throw StoreError(ExitCode::person_must_act, "R0206", "cannot write `" + file.string() + "`: " + cause,
                     "free space, then resume the run");
  }
}

RunLock::~RunLock() { ::close(descriptor_); }

std::int64_t lock_holder(const std::filesystem::path& run_dir) {
  int descriptor = ::open((run_dir / "lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  struct flock region = whole_file(F_RDLCK);
  bool held = ::fcntl(descriptor, F_OFD_GETLK, &region) == 0 && region.l_type != F_UNLCK;
  std::int64_t holder = held ? pid_in(descriptor) : 0;
  ::close(descriptor);
  return holder;
}

std::filesystem::path stage_run_directory(FileLayer& files, const std::filesystem::path& run_dir) {
  if (std::filesystem::exists(run_dir)) {
    throw StoreError(ExitCode::could_not_answer, "R0202", "`" + run_dir.string() + "` exists already",
                     "choose another --name, or resume that run");
  }
  std::filesystem::path parent = std::filesystem::absolute(run_dir).parent_path();
  std::error_code error;  // the call below tells why it failed
  std::filesystem::create_directories(parent, error);
  std::filesystem::path staged = parent / ("." + run_dir.filename().string() + ".new-" + std::to_string(::getpid()));
  std::filesystem::remove_all(staged, error);  // of a killed process that had this id
  files.make_folder(staged);
  for (const char* room : {"artifacts", "tmp", "log", "program"}) files.make_folder(staged / room);
  return staged;
}

void publish_run_directory(FileLayer& files, const std::filesystem::path& staged,
                           const std::filesystem::path& run_dir) {
  files.sync_folder(staged);
  files.rename(staged, run_dir);
  files.sync_folder(staged.parent_path());
}

void copy_program(FileLayer& files, const std::filesystem::path& run_dir, const std::vector<PlanSource>& sources) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::string name = std::filesystem::path(sources[i].path).filename().string();
    publish_text(files, run_dir / "program", std::to_string(i) + "-" + name, sources[i].text);
  }
}

void require_run(const std::filesystem::path& run_dir) {
  if (std::filesystem::exists(run_dir / kDatabaseName)) return;
  throw StoreError(ExitCode::could_not_answer, "R0203", "there is no run in `" + run_dir.string() + "`",
                   "`rlflow runs` lists the runs of a folder");
}

void require_writable(const std::filesystem::path& run_dir) {
  if (::access(run_dir.c_str(), W_OK) == 0) return;
  throw StoreError(ExitCode::person_must_act, "R0211",
                   "cannot write in `" + run_dir.string() + "`: " + std::strerror(errno),
                   "make the folder writable, or copy the run elsewhere");
}

void clear_temporary_files(FileLayer& files, const std::filesystem::path& run_dir) {
  for (const auto& entry : std::filesystem::directory_iterator(run_dir / "tmp")) files.remove(entry.path());
}

}  // namespace rlflow
