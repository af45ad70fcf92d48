// `rlflow fork RUN`: a run of its own that begins where another one is.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/diagnostic_output.h"
#include "cli/forked_run.h"
#include "cli/json_output.h"
#include "cli/program_difference.h"
#include "cli/run_folders.h"
#include "cli/verb.h"

namespace rlflow {
namespace {

struct ForkOptions {
  std::string run;
  std::string runs_dir;
  std::string with;
  std::string name;
  std::vector<std::string> overrides;
  std::optional<Step> step;
  bool json = false;
};

ExitCode fork(const ForkOptions& options, const Session& session) {
  const std::filesystem::path runs = runs_folder(options.runs_dir);
  NewFork fork;
  fork.parent_dir = find_run(options.run, runs);
  fork.runs = runs;
  fork.name = options.name;
  fork.with = options.with;
  fork.overrides = options.overrides;
  fork.step = options.step;
  MadeFork made;
  Outcome outcome = make_fork(fork, session, made);
  if (outcome.code != ExitCode::yes) {
    print_outcome(outcome, nullptr, session);
    return outcome.code;
  }
  if (options.json) {
    print_json({{"format", "rlflow.fork/1"},
                {"run", made.run_dir.string()},
                {"name", made.name},
                {"parent", made.parent},
                {"step", made.step},
                {"changes", differences_json(made.changes)}});
    return ExitCode::yes;
  }
  std::cout << made.run_dir.string() << "  goes on after step " << made.step << " of " << made.parent << "\n"
            << to_text(made.changes) << "next  " << session.invoked_as << " resume "
            << (options.runs_dir.empty() ? made.name : made.run_dir.string()) << "\n";
  return ExitCode::yes;
}

}  // namespace

Action declare_fork(CLI::App& app, const Session& session) {
  auto options = std::make_shared<ForkOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  app.add_option("--from-step", options->step, "the last step that both share (default: the last that is committed)")
      ->check(CLI::NonNegativeNumber)
      ->option_text("K");
  app.add_option("-s,--set", options->overrides, "change a param or a setting of the new run; repeatable")
      ->option_text("ADDRESS=VALUE")
      ->allow_extra_args(false);
  app.add_option("--with", options->with, "this program in the place of the run's own")->option_text("FILE");
  add_name_option(app, options->name);
  app.add_flag("--json", options->json, "print one JSON object, rlflow.fork/1");
  app.footer(app.get_footer() +
             "\nSteps up to K are copied as they were recorded; their files are shared by hard links where the file "
             "system has them, since a file of a run never changes. The new run is left paused.");
  return [options, &session] { return fork(*options, session); };
}

}  // namespace rlflow
