// `rlflow resume RUN`: the run's own program again, from the last committed step.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/console/console.h"
#include "cli/diagnostic_output.h"
#include "cli/recorded_program.h"
#include "cli/run_folders.h"
#include "cli/run_library/load.h"
#include "cli/verb.h"

namespace rlflow {
namespace {

struct ResumeOptions {
  std::string run;
  std::string runs_dir;
  std::vector<std::string> overrides;
  bool plain = false;
  bool json = false;
};

ExitCode resume_run(const ResumeOptions& options, const Session& session) {
  RunRequest request;
  request.run_dir = find_run(options.run, runs_folder(options.runs_dir));
  request.resume = true;
  request.command = session.command;
  RecordedRun recorded = RunReader(request.run_dir).run();
  request.name = recorded.name;
  request.seed = recorded.seed;
  RunApi& api = run_api();
  Cluster cluster = api.cluster();
  Plan plan = recorded_plan(recorded, options.overrides, &cluster);
  std::string reference = options.runs_dir.empty() ? options.run : request.run_dir.string();
  std::unique_ptr<Console> console =
      make_console(console_form(options.plain, options.json, session), plan, session, reference);
  PauseOnSignal signals(api);
  Outcome outcome = signals.with_signal(api.run(plan, request, *console));
  console->finish(outcome);
  print_outcome(outcome, &plan, session);
  return outcome.code;
}

}  // namespace

Action declare_resume(CLI::App& app, const Session& session) {
  auto options = std::make_shared<ResumeOptions>();
  app.add_option("run", options->run, "name of the run, a path to it, or @last")->required();
  add_runs_option(app, options->runs_dir);
  app.add_option("-s,--set", options->overrides, "change what may change: stop, retries, timeouts, keep")
      ->option_text("ADDRESS=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--plain", options->plain, "one line a step, also on a terminal");
  app.add_flag("--json", options->json, "one JSON object a line");
  return [options, &session] { return resume_run(*options, session); };
}

}  // namespace rlflow
