// How does a store that an older program wrote become one of this program?
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "runtime/store/database.h"
#include "runtime/store/file_layer.h"

namespace rlflow {

// From version `to` - 1 to `to`, inside a transaction of the caller.
struct Migration {
  std::int64_t to = 0;
  std::function<void(Database&)> change;
};
// Of this program, by version.
std::span<const Migration> migrations();

// Forward only, by the holder of the run's lock, before anything else is written: a backup beside the database
// (state.db.v1, durable), sums for its pages where it has none yet, then all steps in one transaction. A store of this
// version, or of a newer one, is left alone; `check_schema` refuses the latter. Killed at any point, it leaves the old
// version or the new one.
void migrate(FileLayer& files, Database& database, std::span<const Migration> steps = migrations());

// What `migrate` calls its backups.
bool is_backup(const std::filesystem::path& file);

}  // namespace rlflow
