// What of a run may be thrown away, and in which order does it go?
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/store/artifact_store.h"
#include "runtime/store/task_store.h"

namespace rlflow {

// Three stages, so that a death at any moment leaves nothing half gone: rows are condemned in a transaction; files are
// unlinked, durably; rows say gone. `resume` and the next `gc` finish what a killed process began.
// Here: the second and third, of everything that is condemned.
void finish_removals(Database& database, TaskStore& tasks, ArtifactStore& artifacts);

struct CollectedArtifact {
  Digest digest;
  std::string kind;
  std::uint64_t bytes = 0;
};
struct Collection {
  std::vector<CollectedArtifact> artifacts;
  std::vector<std::filesystem::path> leftovers;  // of a killed process
  std::uint64_t bytes = 0;                       // of the artifacts
};

// Throws away what `retention` does not keep, under the run's lock. `before`: outputs and inputs of updates of earlier
// steps go as well, but for what a resume needs: the last value of each node, and whatever the newest checkpoint at or
// below the needed versions does not make superfluous. A dry run changes nothing. StoreError where the run is in use,
// damaged or not writable.
Collection collect_garbage(FileLayer& files, const std::filesystem::path& run_dir, const Retention& retention,
                           std::optional<Step> before, bool dry_run);

}  // namespace rlflow
