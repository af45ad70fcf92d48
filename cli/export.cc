// `rlflow export RUN --model NAME -o DIR`: a Hugging Face folder.
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
  std::string folder;
  std::string runs_dir;
  std::int64_t version = -1;
  bool json = false;
};

ExitCode export_from_run(const ExportOptions& options, const Session& session) {
  ExportRequest request;
  request.run_dir = find_run(options.run, runs_folder(options.runs_dir));
  request.model = options.model;
  request.folder = options.folder;
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

}  // namespace

Action declare_export(CLI::App& app, const Session& session) {
  auto options = std::make_shared<ExportOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  app.add_option("--model", options->model, "the model's name in the program")->required()->option_text("NAME");
  app.add_option("-o,--output", options->folder, "the folder to write; it must not exist or be empty")
      ->required()
      ->option_text("DIR");
  app.add_option("--version", options->version, "version of the model (default: the newest)")->option_text("K");
  app.add_flag("--json", options->json, "one JSON object");
  return [options, &session] { return export_from_run(*options, session); };
}

}  // namespace rlflow
