// Forward, after a backup, in one transaction.
#include "runtime/store/migration.h"

#include "runtime/store/failpoint.h"

namespace rlflow {
namespace {

constexpr const char* kBackup = "state.db.v";

void back_up(FileLayer& files, Database& database, std::int64_t version) {
  std::filesystem::path run_dir = database.file().parent_path();
  std::filesystem::path backup = run_dir / (kBackup + std::to_string(version));
  if (files.size(backup)) return;  // of a migration that was killed: nothing was written since
  std::filesystem::path temporary = run_dir / "tmp" / "state.db";
  files.remove(temporary);
  database.copy_into(temporary);
  files.rename(temporary, backup);
  files.sync_folder(run_dir);
  failpoint("migration: backed up");
}

}  // namespace

std::span<const Migration> migrations() { return {}; }

void migrate(FileLayer& files, Database& database, std::span<const Migration> steps) {
  std::int64_t version = database.number("PRAGMA user_version");
  if (version < 1 || steps.empty() || steps.back().to <= version) return;
  back_up(files, database, version);
  Transaction transaction(database);
  for (const Migration& step : steps) {
    if (step.to <= version) continue;
    step.change(database);
    failpoint("migration: step");
    database.execute("PRAGMA user_version=" + std::to_string(step.to));
  }
  transaction.commit();
}

bool is_backup(const std::filesystem::path& file) { return file.filename().string().starts_with(kBackup); }

}  // namespace rlflow
