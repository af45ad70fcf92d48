// What is a verb of the program: one row of the table in verbs.cc that drives dispatch, help and docs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/contract/run_api.h"

namespace CLI {
class App;
}

namespace rlflow {

enum class Color { automatic, always, never };

// The options that stand before every verb, and how the program was called.
struct Session {
  Color color = Color::automatic;
  bool quiet = false;      // -q: results and errors alone
  int verbose = 0;         // -v
  std::string invoked_as;  // "./dev rlflow", "rlflow": printed next commands begin with it
  std::string command;     // the whole command line, for the record
};

// Returns the exit code. Set by `declare`, run after the arguments were parsed.
using Action = std::function<ExitCode()>;

// `declare` adds the verb's arguments to its own App and returns what to do with them. The session outlives
// the action. Nothing is opened or read before the action runs.
struct Verb {
  const char* name;
  const char* summary;  // one line, lower case, no full stop
  const char* example;  // commands without the program's name, one a line
  Action (*declare)(CLI::App& app, const Session& session);
};

// In the order in which `rlflow help` lists them.
const std::vector<Verb>& verbs();

Action declare_new(CLI::App& app, const Session& session);
Action declare_check(CLI::App& app, const Session& session);
Action declare_fmt(CLI::App& app, const Session& session);
Action declare_plan(CLI::App& app, const Session& session);
Action declare_params(CLI::App& app, const Session& session);
Action declare_graph(CLI::App& app, const Session& session);
Action declare_explain(CLI::App& app, const Session& session);
Action declare_lsp(CLI::App& app, const Session& session);
Action declare_run(CLI::App& app, const Session& session);
Action declare_resume(CLI::App& app, const Session& session);
Action declare_replay(CLI::App& app, const Session& session);
Action declare_export(CLI::App& app, const Session& session);
Action declare_generate(CLI::App& app, const Session& session);
Action declare_model(CLI::App& app, const Session& session);
Action declare_runs(CLI::App& app, const Session& session);
Action declare_show(CLI::App& app, const Session& session);
Action declare_why(CLI::App& app, const Session& session);
Action declare_diff(CLI::App& app, const Session& session);
Action declare_retry(CLI::App& app, const Session& session);
Action declare_fork(CLI::App& app, const Session& session);
Action declare_gc(CLI::App& app, const Session& session);
Action declare_fsck(CLI::App& app, const Session& session);

}  // namespace rlflow
