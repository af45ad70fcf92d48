// Forward, after a backup, in one transaction.
#include "runtime/store/migration.h"

#include <array>

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

// Sums of rows, now that every page has one, and an index that nothing asks.
void drop_row_sums(Database& database) {
  database.execute("DROP INDEX tasks_key");
  for (const char* table : {"run", "program", "files", "artifacts", "tasks", "versions", "steps"}) {
    database.execute("ALTER TABLE " + std::string(table) + " DROP COLUMN sum");
  }
}

}  // namespace

std::span<const Migration> migrations() {
  static const std::array<Migration, 1> kMigrations{{{2, drop_row_sums}}};
  return kMigrations;
}

void migrate(FileLayer& files, Database& database, std::span<const Migration> steps) {
  std::int64_t version = database.number("PRAGMA user_version");
  if (version < 1 || steps.empty() || steps.back().to <= version) return;
  back_up(files, database, version);
  if (!database.pages_summed()) database.sum_pages();
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
