// The order in which a run is opened to be changed.
#include "runtime/store/writable_run.h"

#include "runtime/store/bundle_rows.h"
#include "runtime/store/fsck.h"
#include "runtime/store/migration.h"
#include "runtime/store/schema.h"

namespace rlflow {
namespace {

// Before the lock, which makes a file where there is none.
const std::filesystem::path& writable(FileLayer& files, const std::filesystem::path& run_dir) {
  require_run(files, run_dir);
  require_writable(run_dir);
  return run_dir;
}

}  // namespace

WritableRun::WritableRun(FileLayer& files, const std::filesystem::path& run_dir)
    : lock_(files, writable(files, run_dir)), database_(run_dir / kDatabaseName, Database::Mode::write) {
  // SQLite passes over a folder that cannot be synced; in that folder stands the log that it has just made.
  files.sync_folder(run_dir);
  migrate(files, database_);
  check_schema(database_);
  require_sound(database_);
  require_whole_run(database_);
}

}  // namespace rlflow
