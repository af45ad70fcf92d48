// `rlflow retry RUN`: give failed tasks another chance, then resume.
#include "runtime/store/retry.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/resumed_run.h"
#include "cli/run_folders.h"
#include "cli/verb.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

struct RetryOptions {
  std::string run;
  std::string runs_dir;
  std::string task;
  bool failed = false;
  WatchOptions watch;
};

ExitCode retry(const RetryOptions& options, const Session& session) {
  std::optional<TaskName> only;
  if (!options.task.empty()) {
    only = task_name_from_text(options.task);
    if (!only) {
      throw StoreError(ExitCode::could_not_answer, "R0402", "`" + options.task + "` is not a task",
                       "write node:step, e.g. traj:42");
    }
  }
  const std::filesystem::path run_dir = find_run(options.run, runs_folder(options.runs_dir));
  PosixFiles disk;
  std::string names;
  for (const TaskName& task : reset_failed_tasks(disk, run_dir, only))
    names += (names.empty() ? "" : ", ") + to_text(task);
  std::cerr << (names.empty() ? "no task failed; the run goes on" : "again: " + names) << "\n";
  WatchOptions watch = options.watch;
  watch.reference = options.runs_dir.empty() ? options.run : run_dir.string();
  return resumed_run(run_dir, {}, watch, session);
}

}  // namespace

Action declare_retry(CLI::App& app, const Session& session) {
  auto options = std::make_shared<RetryOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  auto* task =
      app.add_option("--task", options->task, "this one alone: node and step, e.g. traj:42")->option_text("NODE:STEP");
  app.add_flag("--failed", options->failed, "every task that failed (the default)")->excludes(task);
  add_watch_options(app, options->watch);
  app.footer(app.get_footer() + "\nA run that failed for good (`on_failure = fail`) can go on after it.");
  return [options, &session] { return retry(*options, session); };
}

}  // namespace rlflow
