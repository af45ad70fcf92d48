// The checks of the rows: what SQLite knows (it reads every page, so every sum is checked), what must be there
// together.
#include "runtime/store/fsck.h"
#include "runtime/store/record_queries.h"

namespace rlflow {
namespace {

using Problems = std::vector<std::string>;

void check_sqlite(Database& database, Problems& problems) {
  // integrity_check, not quick_check: an index that differs from its table would answer wrongly.
  Statement integrity = database.prepare("PRAGMA integrity_check");
  while (integrity.step()) {
    if (integrity.text_at(0) != "ok") problems.push_back("SQLite: " + integrity.text_at(0));
  }
  if (!problems.empty()) return;
  Statement foreign = database.prepare("PRAGMA foreign_key_check");
  while (foreign.step()) problems.push_back("a row of `" + foreign.text_at(0) + "` refers to none");
}

// Each row of `sql` is a problem: the name of a task.
void check_tasks(Database& database, const char* sql, const std::string& what, Problems& problems) {
  Statement rows = database.prepare(sql);
  while (rows.step()) {
    TaskName task{rows.text_at(0), rows.int_at(1), static_cast<std::int32_t>(rows.int_at(2))};
    problems.push_back("task `" + to_text(task) + "` " + what);
  }
}

void check_steps(Database& database, Problems& problems) {
  check_tasks(database,
              "SELECT node,step,slot FROM tasks AS t WHERE (state='done')!=((SELECT count(*) FROM outputs "
              "WHERE task=t.id)=ports AND key IS NOT NULL)",
              "is done without its outputs", problems);
  // A bundle has the outputs that its task reads. `gc --before` may throw outputs away, but none of an unfinished step
  // and no node's last value.
  check_tasks(database,
              "SELECT node,step,slot FROM tasks AS t WHERE EXISTS(SELECT 1 FROM outputs AS o JOIN artifacts AS a "
              "ON a.digest=o.digest WHERE task=t.id AND a.state!='live') AND step>=(SELECT max(step) FROM tasks AS l "
              "WHERE l.node=t.node AND l.state='done' AND (l.step<=(SELECT max(step) FROM steps) OR l.step=t.step)) "
              "AND NOT EXISTS(SELECT 1 FROM events WHERE kind='bundle')",
              "has an output that was thrown away", problems);
  check_tasks(database,
              "SELECT node,step,slot FROM tasks WHERE step IN(SELECT step FROM steps) "
              "AND state NOT IN('done','skipped','cancelled')",
              "is not finished, but its step is", problems);
  if (database.number("SELECT count(*)-1-coalesce(max(step),-1) FROM steps") != 0) {
    problems.push_back("the finished steps have a gap");
  }
}

void check_heads(Database& database, Problems& problems) {
  Statement rows = database.prepare(
      "SELECT v.model,(SELECT head FROM heads WHERE model=v.model),count(*),max(version) FROM versions AS v "
      "GROUP BY v.model");
  while (rows.step()) {
    if (!rows.null_at(1) && rows.int_at(2) == rows.int_at(1) + 1 && rows.int_at(3) == rows.int_at(1)) continue;
    problems.push_back("versions of `" + rows.text_at(0) + "` have a gap below " + std::to_string(rows.int_at(3)));
  }
  Statement updates = database.prepare(
      "SELECT v.model,version FROM versions AS v LEFT JOIN tasks ON id=update_task WHERE version>0 "
      "AND (step IS NOT version OR state NOT IN('done','skipped'))");
  while (updates.step()) {
    problems.push_back("version " + std::to_string(updates.int_at(1)) + " of `" + updates.text_at(0) +
                       "` has no finished update");
  }
}

// A manifest is named by the hash of its text, and the text follows from its members.
void check_manifest(Database& database, const Digest& manifest, const char* kind, Problems& problems) {
  std::vector<Member> members = members_of(database, manifest);
  if (sha256(manifest_text(kind, members)) == manifest) return;
  problems.push_back("the members of manifest " + hex(manifest).substr(0, 16) + "… are not those it was named by");
}

void check_manifests(Database& database, Problems& problems) {
  for (const auto& [column, kind] : {std::pair("batch", "batch"), std::pair("ckpt", "checkpoint")}) {
    std::string sql =
        std::string("SELECT DISTINCT ") + column + " FROM versions WHERE version>0 AND " + column + " IS NOT NULL";
    Statement rows = database.prepare(sql);
    while (rows.step()) check_manifest(database, rows.digest_at(0), kind, problems);
  }
}

// From the newest checkpoint on, everything that brings the head back is live.
void check_restorable(Database& database, Problems& problems) {
  Statement rows = database.prepare(
      "WITH newest AS (SELECT model,max(version) AS at FROM versions WHERE ckpt IS NOT NULL GROUP BY model),"
      "needed AS (SELECT v.model,version,ckpt AS manifest FROM versions AS v JOIN newest AS n ON n.model=v.model "
      "  AND version=at UNION SELECT v.model,version,batch FROM versions AS v JOIN newest AS n ON n.model=v.model "
      "  AND version>at AND batch IS NOT NULL),"
      "parts AS (SELECT model,version,manifest AS part FROM needed UNION "
      "  SELECT model,version,part FROM needed JOIN members ON members.manifest=needed.manifest) "
      "SELECT model,version FROM parts JOIN artifacts ON digest=part WHERE state!='live' GROUP BY model,version "
      "UNION SELECT model,head FROM heads WHERE model NOT IN(SELECT model FROM newest)");
  while (rows.step()) {
    problems.push_back("version " + std::to_string(rows.int_at(1)) + " of `" + rows.text_at(0) +
                       "` cannot be restored: what it needs was thrown away");
  }
}

}  // namespace

std::vector<std::string> check_rows(Database& database) {
  Problems problems;
  check_sqlite(database, problems);
  if (!problems.empty()) return problems;  // the rows cannot be trusted to be read
  check_steps(database, problems);
  check_heads(database, problems);
  check_manifests(database, problems);
  check_restorable(database, problems);
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

}  // namespace rlflow
