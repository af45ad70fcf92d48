// What lies in the folder of a run, and who may write there?
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
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
  RunLock(FileLayer& files, const std::filesystem::path& run_dir);

 private:
  std::unique_ptr<FileLock> held_;
};

// The process that holds the lock of a run folder; 0 if nobody does.
std::int64_t run_holder(const std::filesystem::path& run_dir);

// A run is born whole: its folder is made under another name beside its own with all of its rooms, filled by `fill`,
// then renamed and durable. StoreError R0202 if something is at `run_dir` already. What `fill` throws is passed on, and
// nothing stays behind.
void make_run_directory(FileLayer& files, const std::filesystem::path& run_dir,
                        const std::function<void(const std::filesystem::path& staged)>& fill);
// Copies the sources, for people to read: program/<position>-<file name>.
void copy_program(FileLayer& files, const std::filesystem::path& run_dir, const std::vector<PlanSource>& sources);
std::filesystem::path program_copy(const std::filesystem::path& run_dir, std::size_t number, const std::string& path);
// StoreError R0203 unless the folder holds a run; R0211 if this user may not write there.
void require_run(FileLayer& files, const std::filesystem::path& run_dir);
void require_writable(const std::filesystem::path& run_dir);

}  // namespace rlflow
