// How many tasks a second does the store record, beside raw SQLite that inserts the same final rows?
//
// Both commit one transaction a step with synchronous=FULL in the same folder. Raw SQLite has the same tables and
// indices without triggers, and one prepared INSERT a row; the store admits, starts and finishes each task, sums its
// pages, and has its triggers look at the rows. Prints one JSON line.
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/store/schema.h"
#include "runtime/store/task_store.h"

namespace {

using namespace rlflow;
namespace fs = std::filesystem;

constexpr int kTasksOfStep = 8;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Digest digest_of(const std::string& text) { return sha256(text); }

NewRun new_run() {
  NewRun run;
  run.name = "bench";
  run.flow = "bench";
  run.command = "bench";
  run.meaning = digest_of("meaning");
  run.root = "/";
  run.total = 1 << 30;
  run.sources = {{"bench.rlflow", "rlflow 1\n"}};
  run.origin = {digest_of("origin"), "manifest", 10};
  return run;
}

FinishedTask task_of(Step step, int number) {
  const auto name = [step](int n) { return TaskName{"node" + std::to_string(n), step, 0}; };
  const std::string id = std::to_string(step) + "/" + std::to_string(number);
  FinishedTask task;
  task.task = name(number);
  task.key = digest_of("key" + id);
  task.outputs = {{digest_of("output" + id), "reward", 4096}};
  if (number > 0) task.edges = {{name(number - 1), 0, 0}};
  task.metrics = {{"mean", 0.5 * static_cast<double>(step)}, {"std", 0.25}};
  task.milliseconds = 12.5;
  return task;
}

double record(const fs::path& file, Step steps) {
  Database database(file, Database::Mode::create);
  create_schema(database);
  TaskStore::create_run(database, new_run());
  TaskStore store(database, 1);
  std::vector<std::vector<FinishedTask>> all;
  for (Step step = 1; step <= steps; ++step) {
    all.emplace_back();
    for (int i = 0; i < kTasksOfStep; ++i) all.back().push_back(task_of(step, i));
  }
  {
    Transaction transaction(database);
    store.commit_step(0, 0);
    transaction.commit();
  }
  const double began = now();
  for (Step step = 1; step <= steps; ++step) {
    Transaction transaction(database);
    store.require_epoch();
    std::vector<NewTask> admitted;
    for (const FinishedTask& task : all[static_cast<std::size_t>(step - 1)]) admitted.push_back({task.task, 1});
    store.admit(admitted);
    for (const FinishedTask& task : all[static_cast<std::size_t>(step - 1)]) {
      store.start_attempt(task.task, 1);
      store.finish(task);
    }
    store.commit_step(step, 100.0);
    store.write_started();
    transaction.commit();
    if (step % 250 == 0) database.checkpoint_passive();
  }
  return now() - began;
}

void require(sqlite3* database, int code) {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
    throw std::runtime_error(sqlite3_errmsg(database));
}

void execute(sqlite3* database, const std::string& sql) {
  require(database, sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr));
}

struct Row {
  sqlite3_stmt* insert;
  std::vector<sqlite3_value*> values;
};

// Every row that `record` left in a table, as inserts into the other database, for the step that `step` names;
// `joined`: what the table is joined with to know it.
void collect(sqlite3* from, sqlite3* to, const std::string& table, const std::string& step,
             std::vector<std::vector<Row>>& rows, const std::string& joined = "") {
  sqlite3_stmt* select = nullptr;
  require(from, sqlite3_prepare_v2(from, ("SELECT " + step + "," + table + ".* FROM " + table + joined).c_str(), -1,
                                   &select, nullptr));
  const int columns = sqlite3_column_count(select) - 1;
  std::string sql = "INSERT INTO " + table + " VALUES(?";
  for (int i = 1; i < columns; ++i) sql += ",?";
  sqlite3_stmt* insert = nullptr;
  require(to, sqlite3_prepare_v2(to, (sql + ")").c_str(), -1, &insert, nullptr));
  while (sqlite3_step(select) == SQLITE_ROW) {
    const auto number = static_cast<std::size_t>(sqlite3_column_int64(select, 0));
    if (number < 1 || number > rows.size()) continue;
    Row row{insert, {}};
    for (int i = 0; i < columns; ++i) row.values.push_back(sqlite3_value_dup(sqlite3_column_value(select, i + 1)));
    rows[number - 1].push_back(std::move(row));
  }
  sqlite3_finalize(select);
}

double insert_raw(const fs::path& recorded, const fs::path& file, Step steps) {
  sqlite3 *from = nullptr, *to = nullptr;
  require(from, sqlite3_open(recorded.c_str(), &from));
  require(to, sqlite3_open(file.c_str(), &to));
  execute(to, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; PRAGMA foreign_keys=ON");
  sqlite3_stmt* tables = nullptr;
  require(from, sqlite3_prepare_v2(from,
                                   "SELECT sql FROM sqlite_master WHERE type IN('table','index') AND sql IS NOT NULL "
                                   "AND name NOT LIKE 'sqlite_%'",
                                   -1, &tables, nullptr));
  while (sqlite3_step(tables) == SQLITE_ROW) execute(to, reinterpret_cast<const char*>(sqlite3_column_text(tables, 0)));
  sqlite3_finalize(tables);
  std::vector<std::vector<Row>> rows(static_cast<std::size_t>(steps));
  const std::string of_task = "(SELECT step FROM tasks WHERE id=";
  collect(from, to, "artifacts", "step", rows,
          " JOIN outputs ON outputs.digest=artifacts.digest JOIN tasks ON tasks.id=outputs.task");
  collect(from, to, "tasks", "step", rows);
  collect(from, to, "outputs", of_task + "task)", rows);
  collect(from, to, "edges", of_task + "dst)", rows);
  collect(from, to, "attempts", of_task + "task)", rows);
  collect(from, to, "metrics", "step", rows);
  collect(from, to, "steps", "step", rows);
  const double began = now();
  for (std::size_t step = 1; step <= rows.size(); ++step) {
    execute(to, "BEGIN IMMEDIATE");
    for (const Row& row : rows[step - 1]) {
      for (std::size_t i = 0; i < row.values.size(); ++i) {
        sqlite3_bind_value(row.insert, static_cast<int>(i + 1), row.values[i]);
      }
      require(to, sqlite3_step(row.insert));
      sqlite3_reset(row.insert);
    }
    execute(to, "COMMIT");
    if (step % 250 == 0) sqlite3_wal_checkpoint_v2(to, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  }
  return now() - began;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: store_commits FOLDER STEPS\n");
    return 2;
  }
  const fs::path folder = arguments[1];
  const Step steps = std::atoll(arguments[2]);
  fs::create_directories(folder);
  const double ours = record(folder / "ours.db", steps);
  const double raw = insert_raw(folder / "ours.db", folder / "raw.db", steps);
  const auto tasks = static_cast<double>(steps * kTasksOfStep);
  std::printf("{\"tasks\": %g, \"store_seconds\": %g, \"raw_seconds\": %g}\n", tasks, ours, raw);
  return 0;
}
