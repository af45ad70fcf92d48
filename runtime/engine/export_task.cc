// Bundles of one task.
#include "runtime/engine/export_task.h"

#include <algorithm>

#include "runtime/engine/make_executor.h"
#include "runtime/engine/outcomes.h"
#include "runtime/engine/recorded_model.h"
#include "runtime/store/bundle_rows.h"
#include "runtime/store/record_queries.h"
#include "runtime/store/run_directory.h"

namespace rlflow {
namespace {

struct Bundling {
  const Plan& plan;
  NodeLibrary& library;
  const EngineOptions& options;
  FileLayer& files;
  TaskName task;
  std::filesystem::path staged;
};

StoreError unanswerable(const std::string& message, const std::string& help) {
  return StoreError(ExitCode::could_not_answer, "R0402", message, help);
}

void require_exportable(RecordedSession& session, const TaskName& task) {
  auto row = find_task(session.database, task);
  if (!row || row->state != "done") {
    throw unanswerable("task `" + to_text(task) + "` is " + (row ? row->state : "not recorded"),
                       "`rlflow show` lists the tasks of a run");
  }
  if (task.step <= session.parts.inherited) {
    throw unanswerable("`" + to_text(task) + "` was made by run `" + recorded_run(session.database).parent + "`",
                       "export it from there");
  }
  std::vector<Edge> edges = edges_of(session.database, row->row);
  for (const Edge& edge : edges) {
    auto source = find_task(session.database, edge.source);
    for (const RecordedDigest& output : outputs_of(session.database, source->row)) {
      if (!collected(session.database, output.digest)) continue;
      throw StoreError(ExitCode::could_not_answer, "R0216", "`" + to_text(edge.source) + "` was thrown away by `gc`",
                       "ask for a later step, or restore the run from a copy made before");
    }
  }
}

// Below files/, at their paths in the project.
void copy_files(const Bundling& bundle, Database& database) {
  for (const HashedFile& file : recorded_files(database)) {
    std::filesystem::path path(file.path);
    bool inside = path.is_relative() && !path.lexically_normal().string().starts_with("..");
    if (!inside) {
      throw unanswerable("the run reads `" + file.path + "`, which lies outside its project",
                         "copy the file into the project and run again");
    }
    std::filesystem::path copy = bundle.staged / kBundleFiles / path;
    make_durable_folders(bundle.files, copy.parent_path());
    auto out = bundle.files.create(copy);
    out->write(bundle.files.read(std::filesystem::path(bundle.plan.root) / path));
    out->sync();
    bundle.files.sync_folder(copy.parent_path());
  }
}

void add_checkpoint(Database& database, ArtifactStore& artifacts, const ModelRead& read, const ModelInstance& model) {
  std::vector<Artifact> parts;
  std::vector<Member> members;
  for (const std::string& part : model.parts()) {
    parts.push_back(artifacts.put(part, [&](ByteSink& sink) { model.save(part, sink); }));
    members.push_back({read.model + "/" + part, parts.back().digest});
  }
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.name < b.name; });
  std::string text = manifest_text("checkpoint", members);
  Artifact manifest = artifacts.put("manifest", [&](ByteSink& sink) { sink.write(std::as_bytes(std::span(text))); });
  Transaction transaction(database);
  TaskStore(database, database.number("SELECT epoch FROM run"))
      .add_checkpoint({manifest, members}, parts,
                      std::vector<Checkpointed>{{read.model, read.version, model.state_digest()}});
  transaction.commit();
}

void fill(const Bundling& bundle, RecordedSession& session) {
  require_exportable(session, bundle.task);
  require_unchanged_files(session.parts);
  auto read = read_of(session.database, find_task(session.database, bundle.task)->row);
  session.database.copy_into(bundle.staged / kDatabaseName);
  Database database(bundle.staged / kDatabaseName, Database::Mode::write);
  become_bundle(database, bundle.task);
  ArtifactStore artifacts(bundle.files, bundle.staged);
  std::vector<Digest> live;
  Statement rows = database.prepare("SELECT digest FROM artifacts WHERE state='live'");
  while (rows.step()) live.push_back(rows.digest_at(0));
  // Copies: a bundle is made to be taken away.
  for (const Digest& digest : live) {
    std::vector<std::byte> bytes = session.artifacts.get(digest);
    artifacts.put("copy", [&](ByteSink& sink) { sink.write(bytes); });
  }
  if (read && read->version > 0) {
    std::unique_ptr<Executor> executor = make_executor(bundle.plan, bundle.library, bundle.options);
    for (std::size_t i = 0; i < bundle.plan.models.size(); ++i) {
      if (bundle.plan.models[i].name != read->model) continue;
      std::vector<std::string> redone;
      auto model = recorded_model(session, *executor, ModelId(i), read->version, redone);
      add_checkpoint(database, artifacts, *read, *model);
    }
  }
  copy_files(bundle, database);
  copy_program(bundle.files, bundle.staged, bundle.plan.sources);
  database.checkpoint_truncate();
}

Outcome export_into(Bundling bundle, const TaskExportRequest& request) {
  RecordedSession session(bundle.plan, request.run_dir, bundle.library, bundle.files);
  require_whole_run(session.database);
  std::filesystem::path place = std::filesystem::absolute(request.folder).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();
  std::error_code error;
  std::filesystem::remove(place, error);  // an empty folder may stand there; a full one is refused
  make_run_directory(bundle.files, place, [&](const std::filesystem::path& staged) {
    bundle.staged = staged;
    fill(bundle, session);
  });
  return {};
}

}  // namespace

Outcome export_task(const Plan& plan, const TaskExportRequest& request, NodeLibrary& library,
                    const EngineOptions& options) {
  PosixFiles disk;
  return caught([&]() -> Outcome {
    auto task = task_name_from_text(request.task);
    if (!task) throw unanswerable("`" + request.task + "` is no task", "write node:step, as `traj:42`");
    return export_into({plan, library, options, options.files ? *options.files : disk, *task, {}}, request);
  });
}

}  // namespace rlflow
