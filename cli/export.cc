// `rlflow export RUN -o DIR`: a model as a Hugging Face folder, or a task as a bundle that replays elsewhere.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/diagnostic_output.h"
#include "cli/recorded_program.h"
#include "cli/run_folders.h"
#include "cli/run_library/load.h"
#include "cli/verb.h"

namespace rlflow {
namespace {

struct ExportOptions {
  std::string run;
  std::string model;
  std::string task;
  std::string folder;
  std::string runs_dir;
  std::int64_t version = -1;
  bool merged = false;
  bool json = false;
};

ExitCode export_from_run(const ExportOptions& options, const Session& session) {
  ExportRequest request;
  request.run_dir = find_run(options.run, runs_folder(options.runs_dir));
  request.model = options.model;
  request.folder = options.folder;
  request.merged = options.merged;
  if (options.version >= 0) request.version = options.version;
  RecordedRun recorded = RunReader(request.run_dir).run();
  RunApi& api = run_api();
  Cluster cluster = api.cluster();
  Plan plan = recorded_plan(recorded, {}, &cluster);
  Outcome outcome = api.export_model(plan, request);
  if (outcome.code == ExitCode::yes) {
    Version version = request.version.value_or(recorded.committed);
    if (options.json) {
      nlohmann::json object = {{"format", "rlflow.export/1"},
                               {"run", recorded.name},
                               {"model", options.model},
                               {"version", version},
                               {"folder", options.folder}};
      std::cout << object.dump() << "\n";
    } else {
      std::cout << "wrote " << options.folder << "  (" << options.model << " v" << version << " of " << recorded.name
                << ")\n";
    }
    return outcome.code;
  }
  print_outcome(outcome, &plan, session);
  return outcome.code;
}

ExitCode export_bundle(const ExportOptions& options, const Session& session) {
  const std::filesystem::path run_dir = find_run(options.run, runs_folder(options.runs_dir));
  RecordedRun recorded = RunReader(run_dir).run();
  RunApi& api = run_api();
  Cluster cluster = api.cluster();
  Plan plan = recorded_plan(recorded, {}, &cluster);
  Outcome outcome = api.export_task(plan, {run_dir, options.task, options.folder});
  print_outcome(outcome, &plan, session);
  if (outcome.code != ExitCode::yes) return outcome.code;
  if (options.json) {
    nlohmann::json object = {
        {"format", "rlflow.export/1"}, {"run", recorded.name}, {"task", options.task}, {"folder", options.folder}};
    std::cout << object.dump() << "\n";
  } else {
    std::cout << "wrote " << options.folder << "  (" << options.task << " of " << recorded.name << ")\nnext  "
              << session.invoked_as << " replay " << options.folder << "\n";
  }
  return ExitCode::yes;
}

}  // namespace

Action declare_export(CLI::App& app, const Session& session) {
  auto options = std::make_shared<ExportOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  auto* what = app.add_option_group("what", "one of the two");
  what->add_option("--model", options->model, "a Hugging Face folder of this model of the program")
      ->option_text("NAME");
  what->add_option("--task", options->task, "a bundle of this task, which `replay DIR` runs again, here or elsewhere")
      ->option_text("NODE:STEP");
  what->require_option(1);
  app.add_option("-o,--output", options->folder, "the folder to write; it must not exist or be empty")
      ->required()
      ->option_text("DIR");
  app.add_option("--version", options->version, "version of the model (default: the newest)")->option_text("K");
  app.add_flag("--merged", options->merged,
               "of a model trained by adapters (`lora`): base and adapters as one model, instead of a PEFT folder")
      ->excludes("--task");
  app.add_flag("--json", options->json, "one JSON object");
  return [options, &session] {
    return options->task.empty() ? export_from_run(*options, session) : export_bundle(*options, session);
  };
}

}  // namespace rlflow
