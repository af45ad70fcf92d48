// `rlflow resume RUN`: the run's own program again, from the last committed step.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/recorded_program.h"
#include "cli/run_folders.h"
#include "cli/run_library/load.h"
#include "cli/verb.h"
#include "cli/watched_run.h"

namespace rlflow {
namespace {

struct ResumeOptions {
  std::string run;
  std::string runs_dir;
  std::vector<std::string> overrides;
  WatchOptions watch;
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
  WatchOptions watch = options.watch;
  watch.reference = options.runs_dir.empty() ? options.run : request.run_dir.string();
  return watched_run(api, plan, request, watch, session);
}

}  // namespace

Action declare_resume(CLI::App& app, const Session& session) {
  auto options = std::make_shared<ResumeOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  app.add_option("-s,--set", options->overrides, "change what may change: stop, retries, timeouts, keep")
      ->option_text("ADDRESS=VALUE")
      ->allow_extra_args(false);
  add_watch_options(app, options->watch);
  return [options, &session] { return resume_run(*options, session); };
}

}  // namespace rlflow
