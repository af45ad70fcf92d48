// The quick checks of a store.
#include "runtime/store/fsck.h"

#include "runtime/store/record_queries.h"
#include "runtime/store/schema.h"

namespace rlflow {
namespace {

void check_sqlite(Database& database, std::vector<std::string>& problems) {
  Statement quick = database.prepare("PRAGMA quick_check");
  while (quick.step()) {
    if (quick.text_at(0) != "ok") problems.push_back("SQLite: " + quick.text_at(0));
  }
  Statement foreign = database.prepare("PRAGMA foreign_key_check");
  while (foreign.step()) problems.push_back("a row of `" + foreign.text_at(0) + "` refers to none");
}

void check_sums(Database& database, std::vector<std::string>& problems) {
  for (const SummedTable* table : summed_tables()) {
    std::string columns = table->columns;
    std::string first = columns.substr(0, columns.find(','));
    Statement rows = database.prepare("SELECT quote(" + first + ") FROM " + table->name + " WHERE sum IS NOT row_sum(" +
                                      columns + ")");
    while (rows.step()) {
      problems.push_back("a row of `" + std::string(table->name) + "` was changed: " + first + " " + rows.text_at(0));
    }
  }
}

void check_tasks(Database& database, std::vector<std::string>& problems) {
  Statement rows = database.prepare(
      "SELECT node,step FROM tasks AS t WHERE (state='done')!=((SELECT count(*) FROM outputs WHERE task=t.id)=ports "
      "AND key IS NOT NULL)");
  while (rows.step()) {
    problems.push_back("task `" + to_text({rows.text_at(0), rows.int_at(1), 0}) + "` is done without its outputs");
  }
}

void check_versions(Database& database, std::vector<std::string>& problems) {
  Statement rows = database.prepare(
      "SELECT h.model,h.head,count(*),max(v.version),(SELECT a.state FROM versions AS c JOIN artifacts AS a "
      "ON a.digest=c.ckpt WHERE c.model=h.model ORDER BY c.version DESC LIMIT 1) "
      "FROM heads AS h JOIN versions AS v ON v.model=h.model GROUP BY h.model");
  while (rows.step()) {
    std::string model = "`" + rows.text_at(0) + "`";
    if (rows.int_at(2) != rows.int_at(1) + 1 || rows.int_at(3) != rows.int_at(1)) {
      problems.push_back("versions of " + model + " have a gap below " + std::to_string(rows.int_at(1)));
    }
    if (rows.text_at(4) != "live") problems.push_back("no checkpoint of " + model + " can be restored");
  }
}

}  // namespace

std::vector<std::string> check_rows(Database& database) {
  std::vector<std::string> problems;
  check_sqlite(database, problems);
  if (!problems.empty()) return problems;  // the rows cannot be trusted to be read
  check_sums(database, problems);
  check_tasks(database, problems);
  check_versions(database, problems);
  return problems;
}

void require_sound(Database& database) {
  std::vector<std::string> problems = check_rows(database);
  if (problems.empty()) return;
  std::string more = problems.size() > 1 ? " (and " + std::to_string(problems.size() - 1) + " more)" : "";
  throw StoreError(ExitCode::store_damaged, "R0205",
                   "`" + database.file().string() + "` is damaged: " + problems.front() + more,
                   "keep the run folder as it is; restore it from a copy");
}

std::vector<std::string> check_files(Database& database, const ArtifactStore& artifacts) {
  std::vector<std::string> problems;
  Statement rows = database.prepare("SELECT digest,bytes FROM artifacts WHERE state='live'");
  while (rows.step()) {
    std::filesystem::path file = artifacts.path(rows.digest_at(0));
    std::error_code error;
    auto size = std::filesystem::file_size(file, error);
    if (error) {
      problems.push_back("artifact `" + file.string() + "` is missing");
    } else if (size != static_cast<std::uint64_t>(rows.int_at(1))) {
      problems.push_back("artifact `" + file.string() + "` has " + std::to_string(size) + " bytes, not " +
                         std::to_string(rows.int_at(1)));
    }
  }
  return problems;
}

}  // namespace rlflow
