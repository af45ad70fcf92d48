// What did a process that died leave on disk that no row knows?
#pragma once

#include <filesystem>
#include <vector>

#include "runtime/store/artifact_store.h"
#include "runtime/store/database.h"

namespace rlflow {

// Files in tmp/, and files in artifacts/ that no row calls live or condemned (published, but the process died before
// the commit; or unlinked, and the unlink was lost with the power). Never damage: nothing refers to them.
std::vector<std::filesystem::path> find_leftovers(FileLayer& files, Database& database, const ArtifactStore& artifacts,
                                                  const std::filesystem::path& run_dir);
// Removes them. Only by the process that holds the run's lock, with nothing in flight.
void clear_leftovers(FileLayer& files, Database& database, const ArtifactStore& artifacts,
                     const std::filesystem::path& run_dir);

}  // namespace rlflow
