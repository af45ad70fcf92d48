// Raw SQL over a run's state.db.
#include "tests/end_to_end/run_inspection.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "runtime/store/fsck.h"

namespace rlflow::testing {

ProcessResult rlflow(const std::vector<std::string>& arguments, ProcessOptions options) {
  std::vector<std::string> argv = {std::string(RLFLOW_BINARY_DIR) + "/rlflow"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  if (options.folder == ".") options.folder = RLFLOW_SOURCE_DIR;
  options.environment.emplace("OMP_WAIT_POLICY", "passive");
  return run_process(argv, options);
}

std::vector<std::string> small_grpo(const std::string& runs_dir, const std::string& name, int steps,
                                    const std::vector<std::string>& extra) {
  std::vector<std::string> arguments = {
      "run",         "pipelines/tiny_grpo.rlflow",     "--plain", "--runs-dir",    runs_dir, "--name",   name,
      "-s",          "steps=" + std::to_string(steps), "-s",      "batch.count=8", "-s",     "traj.n=4", "-s",
      "test.size=16"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

Rows query(const std::string& run_dir, const std::string& sql) {
  sqlite3* database = nullptr;
  Rows rows;
  if (sqlite3_open_v2((run_dir + "/state.db").c_str(), &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
    ADD_FAILURE() << "cannot open " << run_dir << "/state.db";
    return rows;
  }
  auto collect = [](void* into, int count, char** values, char**) {
    std::vector<std::string> row;
    for (int i = 0; i < count; ++i) row.emplace_back(values[i] != nullptr ? values[i] : "");
    static_cast<Rows*>(into)->push_back(std::move(row));
    return 0;
  };
  char* message = nullptr;
  if (sqlite3_exec(database, sql.c_str(), collect, &rows, &message) != SQLITE_OK) {
    ADD_FAILURE() << sql << ": " << (message != nullptr ? message : "?");
  }
  sqlite3_free(message);
  sqlite3_close(database);
  return rows;
}

std::map<std::int64_t, std::string> weights_by_version(const std::string& run_dir, const std::string& model) {
  std::map<std::int64_t, std::string> result;
  for (const auto& row : query(run_dir, "SELECT version, hex(wdigest) FROM versions WHERE model='" + model + "'")) {
    result[std::stoll(row[0])] = row[1];
  }
  return result;
}

std::map<std::string, std::string> outputs_by_task(const std::string& run_dir) {
  std::map<std::string, std::string> result;
  for (const auto& row : query(run_dir,
                               "SELECT node || ':' || step || ':' || slot, hex(digest) FROM tasks JOIN outputs "
                               "ON outputs.task = tasks.id WHERE state='done' ORDER BY tasks.id, port")) {
    result[row[0]] += row[1] + " ";
  }
  return result;
}

RunFacts facts_of(const std::string& run_dir) {
  RunFacts facts;
  auto add = [&](const std::string& sql) {
    for (const auto& row : query(run_dir, sql)) {
      if (!facts.emplace(row[0], row[1]).second) ADD_FAILURE() << row[0] << " is recorded twice in " << run_dir;
    }
  };
  add("SELECT 'task ' || node || ':' || step || ':' || slot, state || ' ' || coalesce(hex(key), '') FROM tasks "
      "WHERE state!='admitted'");
  add("SELECT 'output ' || node || ':' || step || ':' || slot || '/' || port, hex(digest) FROM tasks JOIN outputs "
      "ON outputs.task = tasks.id");
  add("SELECT 'version ' || model || ' ' || version, outcome || ' ' || hex(wdigest) || ' ' || hex(lineage) "
      "FROM versions");
  add("SELECT 'metric ' || step || ' ' || node || '.' || name, coalesce(printf('%.17g', value), nonfinite) || "
      "coalesce(' of ' || model || ' ' || version, '') FROM metrics "
      "WHERE name NOT LIKE 'time/%' AND name NOT LIKE '%per_second'");
  add("SELECT 'step ' || step, 'committed' FROM steps");
  return facts;
}

std::string first_difference(const RunFacts& found, const RunFacts& expected) {
  for (const auto& [name, value] : expected) {
    auto here = found.find(name);
    if (here == found.end()) return name + " is missing";
    if (here->second != value) return name + " is `" + here->second + "`, not `" + value + "`";
  }
  for (const auto& [name, value] : found) {
    if (!expected.contains(name)) return name + " is there and should not be";
  }
  return {};
}

std::string damage_of(const std::string& run_dir) {
  try {
    PosixFiles files;
    FsckReport report = fsck(files, run_dir, true);
    if (!report.problems.empty()) return report.problems.front();
    return report.leftovers.empty() ? std::string() : "left over: " + report.leftovers.front().string();
  } catch (const StoreError& error) {
    return error.what();
  }
}

double metric(const std::string& run_dir, std::int64_t step, const std::string& node, const std::string& name) {
  Rows rows = query(run_dir, "SELECT value FROM metrics WHERE step=" + std::to_string(step) + " AND node='" + node +
                                 "' AND name='" + name + "'");
  if (rows.size() != 1 || rows[0][0].empty()) {
    ADD_FAILURE() << "no metric " << node << "." << name << " at step " << step;
    return -1;
  }
  return std::stod(rows[0][0]);
}

}  // namespace rlflow::testing
