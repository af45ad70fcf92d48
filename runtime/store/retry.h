// How do tasks that failed get another chance?
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "runtime/store/file_layer.h"
#include "runtime/store/task_name.h"

namespace rlflow {

// Under the run's lock, in one transaction: failed tasks (or the one named) are admitted again, their counts of
// failures begin anew, and a run that failed for good may be resumed. Attempts stay recorded. Returns those tasks.
// StoreError R0402 where the named task is none that failed.
std::vector<TaskName> reset_failed_tasks(FileLayer& files, const std::filesystem::path& run_dir,
                                         const std::optional<TaskName>& only);

}  // namespace rlflow
