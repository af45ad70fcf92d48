// Runs or resumes a plan while a console watches and signals pause it: what `run` and `resume` share.
#pragma once

#include <string>

#include "cli/verb.h"
#include "runtime/contract/plan.h"
#include "runtime/contract/run_api.h"

namespace rlflow {

struct WatchOptions {
  bool plain = false;     // one line a step, also on a terminal
  bool json = false;      // one JSON object a line
  std::string reference;  // how printed next commands name the run
};

// Adds --plain and --json.
void add_watch_options(CLI::App& app, WatchOptions& options);

// Adds --restarts.
void add_restarts_option(CLI::App& app, int& restarts);

// Prints what happens and how it ended; returns the exit code.
ExitCode watched_run(RunApi& api, const Plan& plan, const RunRequest& request, const WatchOptions& options,
                     const Session& session);

}  // namespace rlflow
