// A copy of a run's rows, cut at a step.
#include "runtime/store/fork_rows.h"

#include "runtime/store/record_queries.h"

namespace rlflow {
namespace {

// What refers goes before what it refers to.
constexpr const char* kLaterRows[] = {
    "DELETE FROM metrics WHERE step>?1",
    "DELETE FROM events WHERE ?1>=0",
    "DELETE FROM reads WHERE task IN(SELECT id FROM tasks WHERE step>?1)",
    "DELETE FROM edges WHERE dst IN(SELECT id FROM tasks WHERE step>?1)",
    "DELETE FROM outputs WHERE task IN(SELECT id FROM tasks WHERE step>?1)",
    "DELETE FROM attempts WHERE task IN(SELECT id FROM tasks WHERE step>?1)",
    "DELETE FROM decisions WHERE task IN(SELECT id FROM tasks WHERE step>?1)",
    "DELETE FROM heads WHERE ?1>=0",
    "DELETE FROM versions WHERE version>?1",
    "DELETE FROM tasks WHERE step>?1",
    "DELETE FROM steps WHERE step>?1",
};

// Manifests first: they refer to their parts.
constexpr const char* kUnused =
    "DELETE FROM members WHERE manifest NOT IN(SELECT batch FROM versions WHERE batch IS NOT NULL UNION "
    "SELECT ckpt FROM versions WHERE ckpt IS NOT NULL);"
    "DELETE FROM artifacts WHERE digest NOT IN(SELECT digest FROM outputs UNION SELECT batch FROM versions "
    "WHERE batch IS NOT NULL UNION SELECT ckpt FROM versions WHERE ckpt IS NOT NULL UNION SELECT part FROM members);"
    // The parent's files of these may go at any moment.
    "UPDATE artifacts SET state='gone' WHERE state='condemned'";

void replace_program(Database& database, const ForkedRun& run) {
  database.run("DELETE FROM program");
  auto add = [&](const char* kind, const std::string& path, const std::string& text) {
    database.run("INSERT INTO program(kind,path,text) VALUES(?1,?2,?3)", std::string_view(kind), path, text);
  };
  for (const PlanSource& source : run.sources) add("source", source.path, source.text);
  for (const std::string& text : run.overrides) add("override", "", text);
  for (const HashedFile& file : run.files) {
    database.run("INSERT INTO files(path,digest,bytes) VALUES(?1,?2,?3) ON CONFLICT DO NOTHING", file.path, file.digest,
                 static_cast<std::int64_t>(file.bytes));
  }
}

void rename_run(Database& database, const ForkedRun& run) {
  Statement update = database.prepare(
      "UPDATE run SET name=?, flow=?, command=?, state='paused', reason='', meaning=?, root=?, total=?, created_ms=?, "
      "parent=?, parent_step=? WHERE id=1");
  update.bind(run.name).bind(run.flow).bind(run.command).bind(run.meaning).bind(run.root).bind(run.total);
  update.bind(run.created_ms).bind(run.parent).bind(run.parent_step).run();
}

}  // namespace

void become_fork(Database& database, const ForkedRun& run) {
  Step committed = committed_step(database);
  if (run.parent_step < 0 || run.parent_step > committed) {
    throw StoreError(ExitCode::could_not_answer, "R0218",
                     "run `" + run.parent + "` has not committed step " + std::to_string(run.parent_step),
                     "it has committed steps 0 to " + std::to_string(committed));
  }
  Transaction transaction(database);
  for (const char* sql : kLaterRows) database.run(sql, run.parent_step);
  database.execute("INSERT INTO heads(model,head) SELECT model,max(version) FROM versions GROUP BY model");
  database.execute(kUnused);
  replace_program(database, run);
  rename_run(database, run);
  transaction.commit();
}

}  // namespace rlflow
