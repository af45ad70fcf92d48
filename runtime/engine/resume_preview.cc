// A resume, without doing it.
#include "runtime/engine/resume_preview.h"

#include <algorithm>
#include <set>

#include "runtime/engine/needed_versions.h"
#include "runtime/engine/recorded_choices.h"
#include "runtime/engine/task_key.h"
#include "runtime/store/artifact_store.h"
#include "runtime/store/file_layer.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/schema.h"

namespace rlflow {
namespace {

using Fate = PlannedTask::Fate;

struct Looking {
  Database& database;
  const ArtifactStore& artifacts;
  const Plan& plan;
  const StepGraph& graph;
  std::uint64_t seed;
  const InitDigest& init_digest;
};

std::string why_unfinished(Database& database, std::int64_t row) {
  Statement last = database.query(
      "SELECT n,coalesce(ended,'lost'),coalesce(detail,'') FROM attempts WHERE task=?1 ORDER BY n DESC LIMIT 1", row);
  if (!last.step()) return "it was admitted and never begun";
  std::string attempt = "attempt " + std::to_string(last.int_at(0));
  std::string ended = last.text_at(1);
  if (ended == "lost") return attempt + " was lost with its process";
  if (ended == "stopped") return attempt + " was stopped by a pause";
  if (ended == "done") return attempt + " ended, but what it gave was not recorded";
  return attempt + (ended == "timeout" ? " missed its deadline: " : " failed: ") + last.text_at(2);
}

PlannedTask plan_done(const Looking& at, TaskId task, const TaskRow& row) {
  std::vector<Edge> edges = edges_of(at.database, row.row);
  auto inits = inits_of(at.plan, task, edges, at.init_digest);
  if (task_key(at.database, at.plan, at.graph, at.seed, task, edges, inits) != row.key) {
    return {row.task, Fate::refuse, "it was recorded under other settings than the program gives it now"};
  }
  for (const RecordedDigest& output : outputs_of(at.database, row.row)) {
    if (at.artifacts.size(output.digest)) continue;
    return {row.task, Fate::redo, "`" + at.artifacts.path(output.digest).string() + "` is missing"};
  }
  return {row.task, Fate::reuse, "done, under the same key, its outputs are there"};
}

PlannedTask plan_task(const Looking& at, const TaskRow& row) {
  for (std::size_t i = 0; i < at.plan.nodes.size(); ++i) {
    if (at.plan.nodes[i].name != row.task.node) continue;
    TaskId task{NodeId(i), row.task.step};
    if (!at.graph.due(task.node, task.step) || task.step > at.plan.stop_after) {
      return {row.task, Fate::drop, "the program does not ask for it any more"};
    }
    if (row.state == "done") return plan_done(at, task, row);
    if (row.state == "skipped") return {row.task, Fate::reuse, "skipped: `from` of its node is later"};
    if (row.state == "cancelled") return {row.task, Fate::redo, "cancelled before, and asked for again"};
    return {row.task, Fate::redo, why_unfinished(at.database, row.row)};
  }
  return {row.task, Fate::refuse, "the program has no such node"};
}

}  // namespace

ResumePreview preview_resume(const std::filesystem::path& run_dir, const Plan& plan, const InitDigest& init_digest) {
  PosixFiles files;
  require_run(files, run_dir);
  Database database(run_dir / kDatabaseName, Database::Mode::read);
  check_schema(database);
  Snapshot snapshot(database);
  ArtifactStore artifacts(files, run_dir);
  StepGraph graph(plan);
  choose_as_recorded(database, plan, graph);
  Looking at{database, artifacts, plan, graph, recorded_run(database).seed, init_digest};
  ResumePreview preview;
  preview.committed = committed_step(database);
  preview.begun = preview.committed;
  preview.total = plan.stop_after;
  std::set<TaskName> reused;
  for (const TaskRow& row : tasks_after(database, preview.committed)) {
    preview.begun = std::max(preview.begun, row.task.step);
    preview.tasks.push_back(plan_task(at, row));
    if (preview.tasks.back().fate == Fate::reuse) reused.insert(row.task);
  }
  for (ModelId model : graph.versioned_models()) {
    const std::string& name = plan.models[model.index()].name;
    Version head = head_of(database, name).value_or(0);
    Version oldest = oldest_to_restore(plan, graph, model, head, preview.committed, [&](TaskId task) {
      return reused.contains({plan.nodes[task.node.index()].name, task.step, 0});
    });
    preview.models.push_back({name, newest_checkpoint(database, name, oldest), head});
  }
  return preview;
}

}  // namespace rlflow
