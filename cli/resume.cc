// `rlflow resume RUN`: the run's own program again, from the last committed step.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/diagnostic_output.h"
#include "cli/forked_run.h"
#include "cli/program_difference.h"
#include "cli/recorded_program.h"
#include "cli/resume_preview.h"
#include "cli/resumed_run.h"
#include "cli/run_folders.h"
#include "cli/supervisor.h"
#include "cli/verb.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

struct ResumeOptions {
  std::string run;
  std::string runs_dir;
  std::vector<std::string> overrides;
  std::string with;
  bool dry_run = false;
  bool from_checkpoint = false;
  int restarts = 0;
  WatchOptions watch;
};

// A file that means the same is as good as the run's own copy; one that does not would be another run.
void require_same_meaning(const RecordedRun& run, const std::string& file, const Session& session) {
  Compilation own = recorded_compilation(run, {}, nullptr);
  Compilation other = recorded_compilation(run, {}, nullptr, file);
  std::vector<Difference> differences = program_differences(own, other);
  if (own.plan->meaning != other.plan->meaning) {
    throw StoreError(
        ExitCode::no, "R0212",
        "`" + file + "` is not the program that run `" + run.name + "` began with\n" + to_text(differences),
        "`" + session.invoked_as + " fork " + run.name + " --with " + file +
            "` makes a run of its own that begins where this one is");
  }
  std::cerr << "`" << file << "` means the same as the run's own copy, which is used\n";
  if (differences.empty()) return;
  std::cerr << "what it says differently may change on resume, by -s alone:\n" << to_text(differences);
}

// Where the recorded updates give other bits than they did (another machine), nothing can be redone: a run of its own
// begins at the newest checkpoint, and its record says so.
ExitCode resume_a_fork(const std::filesystem::path& run_dir, const ResumeOptions& options, const Session& session) {
  NewFork fork;
  fork.parent_dir = run_dir;
  fork.runs = runs_folder(options.runs_dir);
  fork.overrides = options.overrides;
  fork.step = newest_checkpoint_step(run_dir);
  MadeFork made;
  Outcome outcome = make_fork(fork, session, made);
  if (outcome.code != ExitCode::yes) {
    print_outcome(outcome, nullptr, session);
    return outcome.code;
  }
  std::cerr << made.name << " goes on from the checkpoint of step " << made.step << " of " << made.parent << "\n";
  WatchOptions watch = options.watch;
  watch.reference = options.runs_dir.empty() ? made.name : made.run_dir.string();
  return resumed_run(made.run_dir, {}, watch, session);
}

ExitCode resume_run(const ResumeOptions& options, const Session& session) {
  const std::filesystem::path run_dir = find_run(options.run, runs_folder(options.runs_dir));
  if (!options.with.empty()) require_same_meaning(RunReader(run_dir).run(), options.with, session);
  if (options.from_checkpoint) return resume_a_fork(run_dir, options, session);
  if (options.dry_run) return show_preview(run_dir, options.overrides, options.watch.json);
  WatchOptions watch = options.watch;
  watch.reference = options.runs_dir.empty() ? options.run : run_dir.string();
  auto resume = [&] { return resumed_run(run_dir, options.overrides, watch, session); };
  if (options.restarts == 0) return resume();
  return supervise({options.restarts, watch.json, watch.reference}, session, resume, resume);
}

}  // namespace

Action declare_resume(CLI::App& app, const Session& session) {
  auto options = std::make_shared<ResumeOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  app.add_option("-s,--set", options->overrides, "change what may change: stop, retries, timeouts, workers, keep")
      ->option_text("ADDRESS=VALUE")
      ->allow_extra_args(false);
  app.add_option("--with", options->with, "compare this program with the run's own; go on if it means the same")
      ->option_text("FILE");
  app.add_flag("--dry-run", options->dry_run, "list each task that is reused or run again, and why; run nothing");
  app.add_flag("--from-checkpoint", options->from_checkpoint,
               "go on as a fork from the newest checkpoint, and redo no update: for another machine");
  add_watch_options(app, options->watch);
  add_restarts_option(app, options->restarts);
  return [options, &session] { return resume_run(*options, session); };
}

}  // namespace rlflow
