// Console, signals and the engine's run, put together.
#include "cli/watched_run.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/console/console.h"
#include "cli/diagnostic_output.h"
#include "cli/run_library/load.h"

namespace rlflow {

void add_watch_options(CLI::App& app, WatchOptions& options) {
  app.add_flag("--plain", options.plain, "one line a step, also on a terminal");
  app.add_flag("--json", options.json, "one JSON object a line");
}

void add_restarts_option(CLI::App& app, int& restarts) {
  app.add_option(
         "--restarts", restarts,
         "start again, at most N times, when the process is killed by a signal or loses its device (exit code 5)")
      ->check(CLI::NonNegativeNumber)
      ->option_text("N");
}

ExitCode watched_run(RunApi& api, const Plan& plan, const RunRequest& request, const WatchOptions& options,
                     const Session& session) {
  std::unique_ptr<Console> console =
      make_console(console_form(options.plain, options.json, session), plan, session, options.reference);
  PauseOnSignal signals(api);
  Outcome outcome = signals.with_signal(api.run(plan, request, *console));
  console->finish(outcome);
  print_outcome(outcome, &plan, session);
  return outcome.code;
}

}  // namespace rlflow
