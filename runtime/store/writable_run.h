// A run opened to be changed: what must be true before anybody writes a row of it, in one place.
#pragma once

#include <filesystem>

#include "runtime/store/database.h"
#include "runtime/store/run_directory.h"

namespace rlflow {

// Holds the run's lock while it lives. Opened in this order: the folder holds a run and may be written to; the lock;
// the database, whose log is made durable; an older schema is migrated; the schema is this program's; the rows are
// sound; it is a run and no bundle. StoreError for the first of these that is not so; nothing was written then but a
// migration.
class WritableRun {
 public:
  WritableRun(FileLayer& files, const std::filesystem::path& run_dir);
  Database& database() { return database_; }

 private:
  RunLock lock_;  // before the database, so that it outlives it
  Database database_;
};

}  // namespace rlflow
