// A copy of a run's rows, cut down to one task.
#include "runtime/store/bundle_rows.h"

#include <set>

#include "runtime/store/record_queries.h"

namespace rlflow {
namespace {

constexpr const char* kEvent = "bundle";

// ?1: the task, ?2: its model ('' if none), ?3: the newest version that stays. What refers goes before what it refers
// to.
constexpr const char* kOtherRows[] = {
    "DELETE FROM events WHERE ?1>0",
    "DELETE FROM steps WHERE ?1>0",
    "DELETE FROM heads WHERE ?1>0",
    "DELETE FROM edges WHERE dst!=?1",
    "DELETE FROM reads WHERE task!=?1",
    "DELETE FROM decisions WHERE task!=?1",
    "DELETE FROM attempts WHERE task!=?1",
    "DELETE FROM metrics WHERE NOT EXISTS(SELECT 1 FROM tasks AS t WHERE t.id=?1 AND t.node=metrics.node AND "
    "t.step=metrics.step)",
    "DELETE FROM versions WHERE ?1>0 AND (model!=?2 OR version>?3)",
};
constexpr const char* kKeptTasks =
    "(SELECT ?1 UNION SELECT src FROM edges UNION SELECT update_task FROM versions WHERE update_task IS NOT NULL)";

void mark(Database& database, const std::set<Digest>& needed) {
  database.execute("UPDATE versions SET ckpt=NULL WHERE version>0");
  database.execute(
      "DELETE FROM members WHERE manifest NOT IN(SELECT batch FROM versions WHERE batch IS NOT NULL UNION SELECT ckpt "
      "FROM versions WHERE ckpt IS NOT NULL)");
  database.execute(
      "DELETE FROM artifacts WHERE digest NOT IN(SELECT digest FROM outputs UNION SELECT batch FROM versions WHERE "
      "batch "
      "IS NOT NULL UNION SELECT ckpt FROM versions WHERE ckpt IS NOT NULL UNION SELECT part FROM members)");
  database.execute("UPDATE artifacts SET state='gone' WHERE state='condemned'");
  std::vector<Digest> live;
  Statement rows = database.prepare("SELECT digest FROM artifacts WHERE state='live'");
  while (rows.step()) live.push_back(rows.digest_at(0));
  for (const Digest& digest : live) {
    if (!needed.contains(digest)) database.run("UPDATE artifacts SET state='gone' WHERE digest=?1", digest);
  }
}

std::set<Digest> needed_digests(Database& database, std::int64_t task, Version made) {
  std::set<Digest> needed;
  auto add = [&](Statement rows) {
    while (rows.step()) needed.insert(rows.digest_at(0));
  };
  add(database.query("SELECT digest FROM outputs WHERE task=?1 OR task IN(SELECT src FROM edges)", task));
  add(database.query(
      "SELECT batch FROM versions WHERE version=?1 AND batch IS NOT NULL UNION SELECT part FROM versions "
      "JOIN members ON manifest=batch WHERE version=?1",
      made));
  add(database.prepare("SELECT ckpt FROM versions WHERE version=0"));
  return needed;
}

}  // namespace

void become_bundle(Database& database, const TaskName& task) {
  auto row = find_task(database, task);
  auto read = read_of(database, row->row);
  bool update = database.query("SELECT 1 FROM versions WHERE update_task=?1", row->row).step();
  Version newest = !read ? -1 : update ? read->version + 1 : read->version;
  std::string model = read ? read->model : std::string();
  Transaction transaction(database);
  for (const char* sql : kOtherRows) {
    Statement statement = database.prepare(sql);
    statement.bind(row->row);
    if (std::string_view(sql).find("?2") != std::string_view::npos) statement.bind(model).bind(newest);
    statement.run();
  }
  database.run("DELETE FROM outputs WHERE task NOT IN" + std::string(kKeptTasks), row->row);
  database.run("DELETE FROM tasks WHERE id NOT IN" + std::string(kKeptTasks), row->row);
  database.execute("INSERT INTO heads(model,head) SELECT model,max(version) FROM versions GROUP BY model");
  mark(database, needed_digests(database, row->row, update ? newest : -1));
  database.run("UPDATE run SET state='done', root=?1 WHERE id=1", std::string_view(kBundleFiles));
  database.run("INSERT INTO events(epoch,mono,wall,kind,task,data) VALUES(1,0,0,?1,?2,'')", std::string_view(kEvent),
               row->row);
  transaction.commit();
}

std::optional<TaskName> bundled_task(Database& database) {
  Statement row =
      database.query("SELECT node,step,slot FROM events JOIN tasks ON id=task WHERE kind=?1", std::string_view(kEvent));
  if (!row.step()) return std::nullopt;
  return TaskName{row.text_at(0), row.int_at(1), static_cast<std::int32_t>(row.int_at(2))};
}

void require_whole_run(Database& database) {
  auto task = bundled_task(database);
  if (!task) return;
  throw StoreError(
      ExitCode::could_not_answer, "R0220",
      "`" + database.file().parent_path().string() + "` is no run but a bundle of the task `" + to_text(*task) + "`",
      "`rlflow replay` runs it again");
}

}  // namespace rlflow
