// The first rows of a run.
#include "runtime/engine/run_birth.h"

#include "runtime/engine/source_files.h"
#include "runtime/engine/task_key.h"
#include "runtime/store/failpoint.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/schema.h"

namespace rlflow {
namespace {

NewRun new_run(const Plan& plan, const RunRequest& request, NodeLibrary& library, const ModelStates& models) {
  NewRun run;
  run.name = request.name;
  run.flow = plan.flow;
  run.command = request.command;
  run.seed = request.seed;
  run.meaning = plan.meaning;
  run.root = plan.root;
  run.total = plan.stop_after;
  run.sources = plan.sources;
  run.overrides = plan.overrides;
  run.environment = library.environment();
  run.files = hash_source_files(plan, library);
  for (std::size_t i = 0; i < plan.models.size(); ++i) {
    const WeightsDigest& weights = models.weights(ModelId(i));
    run.models.push_back({plan.models[i].name, weights, first_lineage(plan.models[i], weights)});
  }
  return run;
}

void fill(FileLayer& files, const std::filesystem::path& staged, const Plan& plan, NewRun run) {
  copy_program(files, staged, plan.sources);
  failpoint("birth: program");
  std::string origin = origin_manifest(run.files);
  run.origin = ArtifactStore(files, staged).put("manifest", [&](ByteSink& sink) {
    sink.write(std::as_bytes(std::span(origin)));
  });
  Database database(staged / kDatabaseName, Database::Mode::create);
  create_schema(database);
  failpoint("birth: schema");
  TaskStore::create_run(database, run);
  // Here a failure is told; SQLite would pass over it when the connection closes.
  database.checkpoint_truncate();
}

}  // namespace

void create_run(FileLayer& files, const Plan& plan, const RunRequest& request, NodeLibrary& library,
                const ModelStates& models, std::int64_t now_ms) {
  NewRun run = new_run(plan, request, library, models);
  run.created_ms = now_ms;
  make_run_directory(files, request.run_dir,
                     [&](const std::filesystem::path& staged) { fill(files, staged, plan, std::move(run)); });
}

}  // namespace rlflow
