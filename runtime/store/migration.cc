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

// Sums of rows go, now that every page has one, and an index that nothing asks; two triggers become one.
void to_second_version(Database& database) {
  database.execute(R"sql(DROP INDEX tasks_key; DROP TRIGGER task_outputs; DROP TRIGGER task_final;
CREATE TRIGGER task_final BEFORE UPDATE OF node,step,slot,ports,key,state ON tasks
  WHEN OLD.state IN('done','skipped')
    OR (NEW.state='done' AND (SELECT count(*) FROM outputs WHERE task=NEW.id)!=NEW.ports)
  BEGIN SELECT RAISE(ABORT,'a finished task is final, and done when all its outputs are there'); END;
)sql");
  for (const char* table : {"run", "program", "files", "artifacts", "tasks", "versions", "steps"}) {
    database.execute("ALTER TABLE " + std::string(table) + " DROP COLUMN sum");
  }
}

}  // namespace

std::span<const Migration> migrations() {
  static const std::array<Migration, 1> kMigrations{{{2, to_second_version}}};
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
