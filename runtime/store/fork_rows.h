// How do the rows of a run become those of a fork of it?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/store/task_store.h"

namespace rlflow {

// What the fork has in the place of what its parent has; the rest of the run's row stays.
struct ForkedRun {
  std::string name;
  std::string flow;
  std::string command;
  Digest meaning;
  std::string root;
  Step total = 0;
  std::int64_t created_ms = 0;
  std::string parent;
  Step parent_step = 0;
  std::vector<PlanSource> sources;
  std::vector<std::string> overrides;
  std::vector<HashedFile> files;  // those that the parent does not have are added
};

// `database` is a copy of the parent's. Everything after `parent_step` goes, with the artifacts that nothing refers to
// then; steps up to it stay as they were recorded, epochs and environments too. One transaction; the run is paused.
// StoreError R0218 where the parent has not committed that step.
void become_fork(Database& database, const ForkedRun& run);

}  // namespace rlflow
