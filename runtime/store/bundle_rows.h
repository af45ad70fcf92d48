// How do the rows of a run become those of a bundle: one task, with what it takes to run it again?
#pragma once

#include <optional>
#include <string>

#include "runtime/store/record_queries.h"

namespace rlflow {

inline constexpr const char* kBundleFiles = "files";  // where a bundle keeps the files of models and data

// `database` is a copy of the run's. Left are the task, the tasks whose outputs it reads, the versions up to the one it
// reads (for an update: made by it) with their updates' rows, and version 0's checkpoint. Artifacts that the task does
// not need are marked gone. Names of files become relative to the bundle. One transaction.
void become_bundle(Database& database, const TaskName& task);

// The task of a bundle; nullopt for a whole run.
std::optional<TaskName> bundled_task(Database& database);
// StoreError R0220 for a bundle: it can be replayed, and nothing else.
void require_whole_run(Database& database);

}  // namespace rlflow
