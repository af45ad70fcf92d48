// Export of a model at one of its versions.
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
void write_folder(const ModelInstance& model, const std::filesystem::path& folder) {
  std::filesystem::path place = std::filesystem::absolute(folder).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();
  std::filesystem::create_directories(place.parent_path());
  std::filesystem::path staged = place.parent_path() / ("." + place.filename().string() + ".new");
  std::filesystem::remove_all(staged);
  std::filesystem::create_directory(staged);
  model.export_folder(staged);
  std::filesystem::rename(staged, place);
}

Outcome export_at(const Plan& plan, const ExportRequest& request, RecordedSession& session, NodeLibrary& library,
                  const EngineOptions& options) {
  auto model = find_model(plan, request.model);
  auto head = head_of(session.database, request.model);
  if (!model || !head) return unanswerable("the run has no model `" + request.model + "`", "`rlflow show` lists them");
  Version version = request.version.value_or(*head);
  if (version < 0 || version > *head) {
    return unanswerable("`" + request.model + "` has no version " + std::to_string(version),
                        "its versions are 0 to " + std::to_string(*head));
  }
  require_unchanged_files(session.parts);
  std::unique_ptr<Executor> executor = make_executor(plan, library, options);
  std::vector<std::string> redone;
  auto instance = recorded_model(session, *executor, *model, version, redone);
  write_folder(*instance, request.folder);
  return {ExitCode::yes,
          {},
          "`" + request.model + "` v" + std::to_string(version) + " is in `" + request.folder.string() + "`",
          {},
          {}};
}

}  // namespace

Outcome export_model(const Plan& plan, const ExportRequest& request, NodeLibrary& library,
                     const EngineOptions& options) {
  std::error_code error;
  if (std::filesystem::exists(request.folder, error) && !std::filesystem::is_empty(request.folder, error)) {
    return unanswerable("`" + request.folder.string() + "` is not an empty folder",
                        "name a folder that does not exist");
  }
  PosixFiles disk;
  return caught([&] {
    RecordedSession session(plan, request.run_dir, library, options.files ? *options.files : disk);
    return export_at(plan, request, session, library, options);
  });
}

}  // namespace rlflow
