// Forward, after a backup, in one transaction.
#include "runtime/store/migration.h"

#include <array>
#include <initializer_list>
#include <string>

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

// "state='live' OR state='gone'", for the reason that schema.cc gives.
std::string any_of(const std::string& column, std::initializer_list<const char*> words) {
  std::string text;
  for (const char* word : words) text += (text.empty() ? "" : " OR ") + column + "='" + word + "'";
  return text;
}

std::string one_in(const std::string& column, std::initializer_list<const char*> words) {
  std::string text;
  for (const char* word : words) text += std::string(text.empty() ? "" : ",") + "'" + word + "'";
  return column + " IN(" + text + ")";
}

// The same CHECKs in other words. No row changes, so the tables are not copied: their text is.
void to_third_version(Database& database) {
  const std::int64_t cookie = database.number("PRAGMA schema_version");
  database.execute("PRAGMA writable_schema=ON");
  const auto reword = [&](const std::string& column, std::initializer_list<const char*> words) {
    database.run("UPDATE sqlite_master SET sql=replace(sql,?1,?2) WHERE type='table'", one_in(column, words),
                 any_of(column, words));
  };
  reword("state", {"running", "paused", "stopped", "done", "failed"});
  reword("state", {"live", "condemned", "gone"});
  reword("state", {"admitted", "done", "skipped", "failed", "cancelled"});
  reword("ended", {"done", "failed", "timeout", "stopped", "lost"});
  reword("nonfinite", {"nan", "inf", "-inf"});
  reword("outcome", {"init", "applied", "partial", "skipped", "held"});
  database.execute("PRAGMA schema_version=" + std::to_string(cookie + 1));
  database.execute("PRAGMA writable_schema=RESET");
  database.execute(R"sql(DROP TRIGGER step_finished;
CREATE TRIGGER step_finished BEFORE INSERT ON steps
  WHEN EXISTS(SELECT 1 FROM tasks WHERE step=NEW.step AND state!='done' AND state!='skipped' AND state!='cancelled')
  BEGIN SELECT RAISE(ABORT,'a step is committed when its tasks are finished'); END;
)sql");
}

}  // namespace

std::span<const Migration> migrations() {
  static const std::array<Migration, 2> kMigrations{{{2, to_second_version}, {3, to_third_version}}};
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
