// `rlflow run FILE`: compile for execution, make a run folder, hand the plan to the engine.
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "cli/diagnostic_output.h"
#include "cli/planning/memory_messages.h"
#include "cli/program_input.h"
#include "cli/resumed_run.h"
#include "cli/run_folders.h"
#include "cli/run_library/load.h"
#include "cli/supervisor.h"
#include "cli/verb.h"
#include "cli/watched_run.h"
#include "compiler/compile.h"
#include "nodes/signatures/catalog.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

struct RunOptions {
  ProgramInput program;
  std::string runs_dir;
  std::string name;
  std::uint64_t seed = 1;
  int restarts = 0;
  WatchOptions watch;
};

std::uint64_t entropy_of_now() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

ExitCode run_program(const RunOptions& options, const Session& session) {
  RunApi& api = run_api();
  Cluster cluster = api.cluster();
  Catalog nodes = catalog();
  CompileRequest request = compile_request(options.program, CompileMode::run);
  request.cluster = &cluster;
  Compilation compilation = compile(request, nodes);
  print_diagnostics(compilation.analysis, session);
  if (!compilation.analysis.readable) return ExitCode::could_not_answer;
  if (!compilation.plan) return ExitCode::no;
  const Plan& plan = *compilation.plan;
  Diagnostics too_large;
  check_memory(plan, compilation.analysis.pipeline, read_model_facts(plan), cluster, too_large);
  if (too_large.has_errors()) {
    compilation.analysis.diagnostics = too_large.take();
    print_diagnostics(compilation.analysis, session);
    return ExitCode::no;
  }

  std::filesystem::path runs = runs_folder(options.runs_dir);
  RunRequest run;
  run.name = options.name.empty() ? new_run_name(plan.flow, runs, entropy_of_now()) : options.name;
  run.run_dir = runs / run.name;
  run.command = session.command;
  run.seed = options.seed;
  WatchOptions watch = options.watch;
  watch.reference = options.runs_dir.empty() ? run.name : run.run_dir.string();
  return watched_run(api, plan, run, watch, session);
}

// The name is chosen here, so that every child means the same run.
ExitCode run_supervised(RunOptions options, const Session& session) {
  if (options.program.path == "-") {
    throw StoreError(ExitCode::could_not_answer, "R0003", "--restarts needs a program in a file: a pipe is read once",
                     "write the program to a file first");
  }
  std::filesystem::path runs = runs_folder(options.runs_dir);
  if (options.name.empty()) {
    Catalog nodes = catalog();
    Analysis analysis = analyze(compile_request(options.program), nodes);
    options.name = new_run_name(analysis.pipeline.flow, runs, entropy_of_now());
  }
  const std::filesystem::path run_dir = runs / options.name;
  const std::string reference = options.runs_dir.empty() ? options.name : run_dir.string();
  auto go_on = [&] {
    // Killed before it was born, there is nothing to resume.
    if (!std::filesystem::exists(run_dir / "state.db")) return run_program(options, session);
    WatchOptions watch = options.watch;
    watch.reference = reference;
    return resumed_run(run_dir, {}, watch, session);
  };
  return supervise(
      {options.restarts, options.watch.json, reference}, session, [&] { return run_program(options, session); }, go_on);
}

}  // namespace

Action declare_run(CLI::App& app, const Session& session) {
  auto options = std::make_shared<RunOptions>();
  add_program_input(app, options->program);
  add_runs_option(app, options->runs_dir);
  add_name_option(app, options->name);
  app.add_option("--seed", options->seed, "seed of everything drawn at random")
      ->capture_default_str()
      ->option_text("N");
  add_watch_options(app, options->watch);
  add_restarts_option(app, options->restarts);
  return [options, &session] {
    return options->restarts > 0 ? run_supervised(*options, session) : run_program(*options, session);
  };
}

}  // namespace rlflow
