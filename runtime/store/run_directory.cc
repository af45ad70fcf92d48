// Run folders and their lock.
#include "runtime/store/run_directory.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/store/failpoint.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

void require_free(FileLayer& files, const std::filesystem::path& run_dir) {
  if (!files.size(run_dir)) return;
  throw StoreError(ExitCode::could_not_answer, "R0202", "`" + run_dir.string() + "` exists already",
                   "choose another --name, or resume that run");
}

// Folders that killed processes staged for a run of this name.
void remove_abandoned(FileLayer& files, const std::filesystem::path& parent, const std::string& prefix) {
  for (const std::filesystem::path& entry : files.list(parent)) {
    std::string name = entry.filename().string();
    if (!name.starts_with(prefix)) continue;
    auto maker = static_cast<pid_t>(std::strtol(name.c_str() + prefix.size(), nullptr, 10));
    bool alive = maker > 0 && maker != ::getpid() && (::kill(maker, 0) == 0 || errno == EPERM);
    if (!alive) files.remove_folder(entry);
  }
}

std::filesystem::path stage(FileLayer& files, const std::filesystem::path& run_dir) {
  require_free(files, run_dir);
  std::filesystem::path parent = std::filesystem::absolute(run_dir).parent_path();
  make_durable_folders(files, parent);
  std::string prefix = "." + run_dir.filename().string() + ".new-";
  remove_abandoned(files, parent, prefix);
  std::filesystem::path staged = parent / (prefix + std::to_string(::getpid()));
  files.make_folder(staged);
  for (const char* room : {"artifacts", "tmp", "log", "program"}) files.make_folder(staged / room);
  return staged;
}

void publish(FileLayer& files, const std::filesystem::path& staged, const std::filesystem::path& run_dir) {
  files.sync_folder(staged);
  failpoint("birth: staged");
  try {
    files.rename(staged, run_dir);
  } catch (const StoreError&) {
    require_free(files, run_dir);  // two runs of one name began at once: the other was first
    throw;
  }
  failpoint("birth: renamed");
  files.sync_folder(staged.parent_path());
  failpoint("birth: durable");
}

// After a failure that is reported anyway; the next run of this name removes what stays.
void remove_quietly(FileLayer& files, const std::filesystem::path& folder) {
  try {
    files.remove_folder(folder);
  } catch (const StoreError&) {
    return;
  }
}

}  // namespace

RunLock::RunLock(FileLayer& files, const std::filesystem::path& run_dir) {
  std::int64_t holder = 0;
  // A holder that ended between the two questions is nobody to name: ask again.
  for (int tries = 0; tries < 3 && holder == 0; ++tries) {
    held_ = files.lock(run_dir / "lock");
    if (held_) return;
    holder = run_holder(run_dir);
  }
  throw StoreError(ExitCode::store_damaged, "R0201",
                   "run `" + run_dir.string() + "` is in use by process " + std::to_string(holder),
                   "wait for it or pause it (Ctrl-C), then try again");
}

std::int64_t run_holder(const std::filesystem::path& run_dir) { return lock_holder(run_dir / "lock"); }

void make_run_directory(FileLayer& files, const std::filesystem::path& run_dir,
                        const std::function<void(const std::filesystem::path& staged)>& fill) {
  std::filesystem::path staged = stage(files, run_dir);
  try {
    fill(staged);
    publish(files, staged, run_dir);
  } catch (...) {
    remove_quietly(files, staged);
    throw;
  }
}

void copy_program(FileLayer& files, const std::filesystem::path& run_dir, const std::vector<PlanSource>& sources) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::filesystem::path copy = program_copy(run_dir, i, sources[i].path);
    publish_text(files, copy.parent_path(), copy.filename().string(), sources[i].text);
  }
}

std::filesystem::path program_copy(const std::filesystem::path& run_dir, std::size_t number, const std::string& path) {
  return run_dir / "program" / (std::to_string(number) + "-" + std::filesystem::path(path).filename().string());
}

void require_run(FileLayer& files, const std::filesystem::path& run_dir) {
  if (files.size(run_dir / kDatabaseName)) return;
  throw StoreError(ExitCode::could_not_answer, "R0203", "there is no run in `" + run_dir.string() + "`",
                   "`rlflow runs` lists the runs of a folder");
}

void require_writable(const std::filesystem::path& run_dir) {
  if (::access(run_dir.c_str(), W_OK) == 0) return;
  throw StoreError(ExitCode::person_must_act, "R0211",
                   "cannot write in `" + run_dir.string() + "`: " + std::strerror(errno),
                   "make the folder writable, or copy the run elsewhere");
}

}  // namespace rlflow
