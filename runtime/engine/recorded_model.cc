// Models of recorded runs.
#include "runtime/engine/recorded_model.h"

#include "runtime/engine/recorded_choices.h"
#include "runtime/store/record_queries.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/schema.h"

namespace rlflow {
namespace {

const std::filesystem::path& existing(FileLayer& files, const std::filesystem::path& run_dir) {
  require_run(files, run_dir);
  return run_dir;
}

}  // namespace

RecordedSession::RecordedSession(const Plan& plan, const std::filesystem::path& run_dir, NodeLibrary& library,
                                 FileLayer& files)
    : graph(plan),
      database(existing(files, run_dir) / kDatabaseName, Database::Mode::read),
      artifacts(files, run_dir),
      parts{plan, graph, 1, database, artifacts, library} {
  check_schema(database);
  choose_as_recorded(database, plan, graph);
  parts.seed = recorded_run(database).seed;
  parts.inherited = inherited_step(database);
}

std::unique_ptr<ModelInstance> recorded_model(RecordedSession& session, Executor& executor, ModelId model,
                                              Version version, std::vector<std::string>& redone) {
  const PlanModel& plan_model = session.parts.plan.models[model.index()];
  Version from = newest_checkpoint(session.database, plan_model.name, version);
  std::unique_ptr<ModelInstance> instance;
  executor.run_on(plan_model.group, [&] {
    instance = session.parts.library.make_model(session.parts.plan, model, {session.parts.seed});
    restore_model(session.parts, model, *instance, from, version, [&](Version reached, const WeightsDigest& weights) {
      if (reached > from) {
        redone.push_back("redone: " + plan_model.name + " v" + std::to_string(reached) + " " + hex(weights));
      }
    });
  });
  return instance;
}

}  // namespace rlflow
