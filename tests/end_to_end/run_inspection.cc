// Raw SQL over a run's state.db.
#include "tests/end_to_end/run_inspection.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

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
