// A model of a run at one of its versions: to be used, or exported.
#include <system_error>

#include "runtime/engine/engine.h"
#include "runtime/engine/make_executor.h"
#include "runtime/engine/outcomes.h"
#include "runtime/engine/recorded_model.h"
#include "runtime/store/record_queries.h"

namespace rlflow {
namespace {

std::optional<ModelId> find_model(const Plan& plan, const std::string& name) {
  for (std::size_t i = 0; i < plan.models.size(); ++i) {
    if (plan.models[i].name == name) return ModelId(i);
  }
  return std::nullopt;
}

Outcome unanswerable(const std::string& message, const std::string& help) {
  return {ExitCode::could_not_answer, "R0501", message, help, {}};
}

// The folder appears whole: it is filled beside its place and renamed.
void write_folder(const ModelInstance& model, const std::filesystem::path& folder, bool merged) {
  std::filesystem::path place = std::filesystem::absolute(folder).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();
  std::filesystem::create_directories(place.parent_path());
  std::filesystem::path staged = place.parent_path() / ("." + place.filename().string() + ".new");
  std::filesystem::remove_all(staged);
  std::filesystem::create_directory(staged);
  if (merged) {
    model.export_merged(staged);
  } else {
    model.export_folder(staged);
  }
  std::filesystem::rename(staged, place);
}

using UseModel = std::function<void(ModelId, Version, const ModelInstance&)>;

Outcome use_at(const Plan& plan, const ModelSource& source, RecordedSession& session, NodeLibrary& library,
               const UseModel& use, const EngineOptions& options) {
  auto model = find_model(plan, source.model);
  auto head = head_of(session.database, source.model);
  if (!model || !head) return unanswerable("the run has no model `" + source.model + "`", "`rlflow show` lists them");
  Version version = source.version.value_or(*head);
  if (version < 0 || version > *head) {
    return unanswerable("`" + source.model + "` has no version " + std::to_string(version),
                        "its versions are 0 to " + std::to_string(*head));
  }
  require_unchanged_files(session.parts);
  std::unique_ptr<Executor> executor = make_executor(plan, library, options);
  std::vector<std::string> redone;
  auto instance = recorded_model(session, *executor, *model, version, redone);
  use(*model, version, *instance);
  return {};
}

}  // namespace

Outcome export_model(const Plan& plan, const ExportRequest& request, NodeLibrary& library,
                     const EngineOptions& options) {
  std::error_code error;
  if (std::filesystem::exists(request.folder, error) && !std::filesystem::is_empty(request.folder, error)) {
    return unanswerable("`" + request.folder.string() + "` is not an empty folder",
                        "name a folder that does not exist");
  }
  const auto model = find_model(plan, request.model);
  if (request.merged && model && lora_of(plan.models[model->index()]) == nullptr) {
    return unanswerable("`" + request.model + "` is not trained by adapters, so there is nothing to merge",
                        "take `--merged` away: its export is whole");
  }
  Version exported = 0;
  const auto write = [&](ModelId, Version version, const ModelInstance& instance) {
    write_folder(instance, request.folder, request.merged);
    exported = version;
  };
  Outcome outcome = use_model(plan, {{}, request.run_dir, request.model, request.version}, library, write, options);
  if (outcome.code == ExitCode::yes) {
    outcome.message =
        "`" + request.model + "` v" + std::to_string(exported) + " is in `" + request.folder.string() + "`";
  }
  return outcome;
}

Outcome use_model(const Plan& plan, const ModelSource& source, NodeLibrary& library, const UseModel& use,
                  const EngineOptions& options) {
  PosixFiles disk;
  return caught([&] {
    RecordedSession session(plan, source.run_dir, library, options.files ? *options.files : disk);
    return use_at(plan, source, session, library, use, options);
  });
}

}  // namespace rlflow
