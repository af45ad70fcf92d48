// `rlflow run FILE`: compile for execution, make a run folder, hand the plan to the engine.
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "cli/diagnostic_output.h"
#include "cli/planning/memory_messages.h"
#include "cli/program_input.h"
#include "cli/run_folders.h"
#include "cli/run_library/load.h"
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
  return [options, &session] { return run_program(*options, session); };
}

}  // namespace rlflow
