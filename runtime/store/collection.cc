// Garbage collection of one run.
#include "runtime/store/collection.h"

#include <chrono>

#include "runtime/store/failpoint.h"
#include "runtime/store/leftovers.h"
#include "runtime/store/schema.h"
#include "runtime/store/writable_run.h"

namespace rlflow {
namespace {

void note_condemned(Database& database, Collection& collection) {
  Statement rows =
      database.prepare("SELECT digest,kind,bytes FROM artifacts WHERE state='condemned' ORDER BY kind,digest");
  while (rows.step()) {
    collection.artifacts.push_back({rows.digest_at(0), rows.text_at(1), static_cast<std::uint64_t>(rows.int_at(2))});
    collection.bytes += collection.artifacts.back().bytes;
  }
}

std::int64_t wall_ms() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

void finish_removals(Database& database, TaskStore& tasks, ArtifactStore& artifacts) {
  std::vector<Digest> condemned = tasks.condemned();
  failpoint("prune: condemned");
  for (const Digest& digest : condemned) artifacts.remove(digest);
  failpoint("prune: unlinked");
  Transaction transaction(database);
  tasks.require_epoch();
  for (const Digest& digest : condemned) tasks.mark_gone(digest);
  transaction.commit();
  failpoint("prune: gone");
}

Collection collect_garbage(FileLayer& files, const std::filesystem::path& run_dir, const Retention& retention,
                           std::optional<Step> before, bool dry_run) {
  WritableRun opened(files, run_dir);
  Database& database = opened.database();
  ArtifactStore artifacts(files, run_dir);
  TaskStore tasks(database, database.number("SELECT epoch FROM run"));
  Collection collection;
  {
    Transaction transaction(database);
    tasks.require_epoch();
    tasks.condemn_checkpoints(retention);
    if (before) tasks.condemn_outputs(*before, retention.needed);
    note_condemned(database, collection);
    failpoint("gc: rows condemned");
    collection.leftovers = find_leftovers(files, database, artifacts, run_dir);
    if (dry_run) return collection;  // rolled back
    tasks.add_event("collected", {}, std::to_string(collection.artifacts.size()) + " artifacts", 0, wall_ms());
    transaction.commit();
  }
  finish_removals(database, tasks, artifacts);
  clear_leftovers(files, database, artifacts, run_dir);
  database.checkpoint_truncate();
  return collection;
}

}  // namespace rlflow
