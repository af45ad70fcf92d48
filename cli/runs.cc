// `rlflow runs`: which runs are there?
#include <CLI/CLI.hpp>
#include <ctime>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/json_output.h"
#include "cli/run_folders.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "runtime/store/run_reader.h"

namespace rlflow {
namespace {

struct RunsOptions {
  std::string runs_dir;
  bool json = false;
};

std::string date_text(std::int64_t unix_ms) {
  std::time_t seconds = unix_ms / 1000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char buffer[32];
  std::strftime(buffer, sizeof buffer, "%Y-%m-%d %H:%M", &local);
  return buffer;
}

ExitCode list(const RunsOptions& options, const Session& session) {
  std::filesystem::path folder = runs_folder(options.runs_dir);
  nlohmann::json runs = nlohmann::json::array();
  Table table{{"run", "state", "step", "begun"}, {}, {}};
  for (const RunSummary& run : list_runs(folder)) {
    bool readable = run.problem.empty();
    runs.push_back({{"name", run.name},
                    {"path", run.path.string()},
                    {"flow", run.flow},
                    {"state", readable ? run_state_name(run.state) : "unreadable"},
                    {"committed", run.committed},
                    {"total", run.total},
                    {"created_ms", run.created_ms},
                    {"problem", run.problem}});
    std::string step = std::to_string(run.committed) + "/" + std::to_string(run.total);
    table.rows.push_back({run.name, readable ? run_state_name(run.state) : run.problem, readable ? step : "",
                          readable ? date_text(run.created_ms) : ""});
  }
  if (options.json) {
    print_json({{"format", "rlflow.runs/1"}, {"folder", folder.string()}, {"runs", runs}});
  } else if (table.rows.empty()) {
    std::cout << "no runs in " << folder.string() << "; " << session.invoked_as << " run FILE makes one\n";
  } else {
    std::cout << to_text(table);
  }
  return ExitCode::yes;
}

}  // namespace

Action declare_runs(CLI::App& app, const Session& session) {
  auto options = std::make_shared<RunsOptions>();  // shared by the parser, which fills it, and the action
  add_runs_option(app, options->runs_dir);
  app.add_flag("--json", options->json, "print one JSON object, rlflow.runs/1");
  return [options, &session] { return list(*options, session); };
}

}  // namespace rlflow
