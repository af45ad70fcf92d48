// What lies in the folder of a run, and who may write there?
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/contract/plan.h"
#include "runtime/store/file_layer.h"

namespace rlflow {

// runs/<name>/: lock · state.db · artifacts/ · tmp/ · log/ · program/
inline constexpr const char* kDatabaseName = "state.db";

// The right to write in one run folder: a lock of the open file, which ends with the process whatever kills it.
// Refused at once with the pid of the holder (StoreError R0201).
class RunLock {
 public:
  explicit RunLock(const std::filesystem::path& run_dir);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int descriptor_ = -1;
};

// The process that holds the lock of a run folder; 0 if nobody does.
std::int64_t lock_holder(const std::filesystem::path& run_dir);

// A run is born whole: its folder is filled under another name beside its own, then renamed.
// `stage` makes the rooms and returns that folder; StoreError R0202 if something is at `run_dir` already.
std::filesystem::path stage_run_directory(FileLayer& files, const std::filesystem::path& run_dir);
void publish_run_directory(FileLayer& files, const std::filesystem::path& staged, const std::filesystem::path& run_dir);
// Copies the sources, for people to read: program/<position>-<file name>.
void copy_program(FileLayer& files, const std::filesystem::path& run_dir, const std::vector<PlanSource>& sources);
// StoreError R0203 unless the folder holds a run; R0211 if this user may not write there.
void require_run(const std::filesystem::path& run_dir);
void require_writable(const std::filesystem::path& run_dir);
// Removes what a killed process left in tmp/.
void clear_temporary_files(FileLayer& files, const std::filesystem::path& run_dir);

}  // namespace rlflow
