// Tasks, versions and steps as rows.
#include "runtime/store/task_store.h"

#include <cmath>
#include <string_view>

#include "runtime/contract/check.h"
#include "runtime/store/failpoint.h"
#include "runtime/store/record_queries.h"

namespace rlflow {
TaskStore::KnownTask& TaskStore::known(const TaskName& task) {
  if (auto at = known_.find(task); at != known_.end()) return at->second;
  auto found = find_task(database_, task);
  RLFLOW_CHECK(found, to_text(task) + " was not admitted");
  return known_[task] = {found->row, found->state == "done"};
}

void TaskStore::require_epoch() {
  std::int64_t now = database_.number("SELECT epoch FROM run");
  if (now == epoch_ || is_off(Safeguard::epoch_check)) return;
  throw StoreError(ExitCode::store_damaged, "R0201",
                   "another process took over `" + database_.file().string() + "`: its epoch is " +
                       std::to_string(now) + ", this process writes for " + std::to_string(epoch_),
                   "leave the run to the other process");
}

void TaskStore::admit(std::span<const NewTask> tasks) {
  for (const NewTask& task : tasks) {
    database_.run(
        "INSERT INTO tasks(node,step,slot,ports,state,failures) VALUES(?1,?2,?3,?4,'admitted',0) "
        "ON CONFLICT(node,step,slot) DO NOTHING",
        task.task.node, task.task.step, std::int64_t{task.task.slot}, std::int64_t{task.ports});
    if (database_.changes() == 1) known_[task.task] = {database_.last_row(), false};
  }
}

void TaskStore::start_attempt(const TaskName& task, std::int32_t attempt) {
  started_.emplace_back(row_of(task), attempt);
}

void TaskStore::write_started() {
  for (const auto& [row, attempt] : started_) {
    database_.run("INSERT INTO attempts(task,n,epoch) VALUES(?1,?2,?3)", row, std::int64_t{attempt}, epoch_);
  }
  started_.clear();
}

void TaskStore::write_attempt_end(std::int64_t row, const AttemptEnd& end) {
  std::optional<std::string_view> detail;
  if (end.ended != "done") detail = end.detail;
  if (std::erase(started_, std::pair(row, end.attempt)) == 0) {
    database_.run("UPDATE attempts SET ended=?3, ms=?4, detail=?5 WHERE task=?1 AND n=?2", row,
                  std::int64_t{end.attempt}, end.ended, end.milliseconds, detail);
    return;
  }
  database_.run("INSERT INTO attempts(task,n,epoch,ended,ms,detail) VALUES(?1,?2,?3,?4,?5,?6)", row,
                std::int64_t{end.attempt}, epoch_, end.ended, end.milliseconds, detail);
}

void TaskStore::end_attempt(const TaskName& task, const AttemptEnd& end) {
  std::int64_t row = row_of(task);
  write_attempt_end(row, end);
  if (end.ended == "stopped") return;  // asked to leave: not a failure
  database_.run("UPDATE tasks SET failures=failures+1, err=?2 WHERE id=?1", row, end.detail);
}

void TaskStore::set_task_state(const TaskName& task, const char* state) {
  std::int64_t row = row_of(task);
  database_.run("UPDATE tasks SET state=?2 WHERE id=?1", row, state);
}
void TaskStore::fail(const TaskName& task) { set_task_state(task, "failed"); }
void TaskStore::cancel(const TaskName& task) { set_task_state(task, "cancelled"); }
void TaskStore::readmit(const TaskName& task) { set_task_state(task, "admitted"); }

void TaskStore::add_artifact(const Artifact& artifact) {
  database_.run(
      "INSERT INTO artifacts(digest,kind,bytes,state) VALUES(?1,?2,?3,'live') "
      "ON CONFLICT(digest) DO UPDATE SET state='live'",
      artifact.digest, artifact.kind, static_cast<std::int64_t>(artifact.bytes));
}

void TaskStore::add_manifest(const Manifest& manifest) {
  add_artifact(manifest.artifact);
  for (const Member& member : manifest.members) {
    database_.run("INSERT INTO members(manifest,name,part) VALUES(?1,?2,?3) ON CONFLICT DO NOTHING",
                  manifest.artifact.digest, member.name, member.part);
  }
}

void TaskStore::finish(const FinishedTask& finished) {
  for (const Artifact& output : finished.outputs) add_artifact(output);
  failpoint("finish: artifacts");
  KnownTask& task = known(finished.task);
  const std::int64_t row = task.row;
  write_attempt_end(row, {finished.attempt, "done", finished.milliseconds, {}});
  if (task.done) return require_same(row, finished);
  for (std::size_t port = 0; port < finished.outputs.size(); ++port) {
    database_.run("INSERT INTO outputs(task,port,digest) VALUES(?1,?2,?3)", row, static_cast<std::int64_t>(port),
                  finished.outputs[port].digest);
  }
  failpoint("finish: outputs");
  for (const Edge& edge : finished.edges) {
    database_.run("INSERT INTO edges(src,src_port,dst,dst_port,ord) VALUES(?1,?2,?3,?4,0)", row_of(edge.source),
                  std::int64_t{edge.source_port}, row, std::int64_t{edge.port});
  }
  if (finished.read) {
    database_.run("INSERT INTO reads(task,model,version) VALUES(?1,?2,?3)", row, finished.read->model,
                  finished.read->version);
  }
  for (const auto& [name, value] : finished.decisions) {
    database_.run("INSERT INTO decisions(task,name,value) VALUES(?1,?2,?3)", row, name, value);
  }
  failpoint("finish: edges");
  database_.run("UPDATE tasks SET state='done', key=?2 WHERE id=?1", row, finished.key);
  task.done = true;
  failpoint("finish: task");
  add_metrics(finished);
  failpoint("finish: metrics");
  if (finished.version) add_version(row, *finished.version);
}

void TaskStore::require_same(std::int64_t task, const FinishedTask& finished) {
  auto recorded = find_task(database_, finished.task);
  std::vector<RecordedDigest> outputs = outputs_of(database_, task);
  bool same = recorded->key == finished.key && outputs.size() == finished.outputs.size();
  for (std::size_t i = 0; same && i < outputs.size(); ++i) same = outputs[i].digest == finished.outputs[i].digest;
  if (same) return;
  throw StoreError(ExitCode::store_damaged, "R0210",
                   "task `" + to_text(finished.task) + "` gave other results than the ones recorded for it",
                   "the environment is not repeatable: compare `rlflow show`'s with the one it began with");
}

void TaskStore::add_metrics(const FinishedTask& finished) {
  for (const Metric& metric : finished.metrics) {
    Statement insert =
        database_.prepare("INSERT INTO metrics(step,node,name,model,version,value,nonfinite) VALUES(?,?,?,?,?,?,?)");
    insert.bind(finished.task.step).bind(finished.task.node).bind(metric.name);
    if (finished.described) {
      insert.bind(finished.described->model).bind(finished.described->version);
    } else {
      insert.bind_null().bind_null();
    }
    if (std::isfinite(metric.value)) {
      insert.bind(metric.value).bind_null().run();
    } else {
      insert.bind_null().bind(std::isnan(metric.value) ? "nan" : metric.value > 0 ? "inf" : "-inf").run();
    }
  }
}

void TaskStore::add_version(std::int64_t task, const NewVersion& version) {
  std::optional<Digest> batch;
  if (version.batch) {
    add_manifest(*version.batch);
    batch = version.batch->artifact.digest;
  }
  database_.run(
      "INSERT INTO versions(model,version,parent,update_task,batch,outcome,applied,planned,wdigest,lineage) "
      "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
      version.model, version.version, version.version - 1, task, batch, version.outcome, version.steps.applied,
      version.steps.planned, version.weights, version.lineage);
  failpoint("finish: version");
  database_.run("UPDATE heads SET head=?2 WHERE model=?1 AND head=?2-1", version.model, version.version);
  if (database_.changes() != 1) {
    throw StoreError(
        ExitCode::store_damaged, "R0205",
        "version " + std::to_string(version.version) + " of `" + version.model + "` does not follow the head",
        "another process wrote to the run; check it with `rlflow show`");
  }
}

void TaskStore::skip(const TaskName& task, const std::optional<NewVersion>& held) {
  set_task_state(task, "skipped");
  if (held) add_version(row_of(task), *held);
}

void TaskStore::commit_step(Step step, double milliseconds) {
  failpoint("step: tasks recorded");
  database_.run("INSERT INTO steps(step,ms) VALUES(?1,?2)", step, milliseconds);
  // The step before is still read by those that look one step back.
  std::erase_if(known_, [step](const auto& task) { return task.first.step < step; });
  failpoint("step: recorded");
}

void TaskStore::add_checkpoint(const Manifest& manifest, std::span<const Artifact> parts,
                               std::span<const Checkpointed> versions) {
  for (const Artifact& part : parts) add_artifact(part);
  failpoint("checkpoint: parts");
  add_manifest(manifest);
  failpoint("checkpoint: manifest");
  for (const Checkpointed& at : versions) {
    if (at.version == 0) continue;  // its source files are its checkpoint
    database_.run("UPDATE versions SET ckpt=?3, sdigest=?4 WHERE model=?1 AND version=?2", at.model, at.version,
                  manifest.artifact.digest, at.state);
  }
}

void TaskStore::set_state(const std::string& state, const std::string& reason) {
  database_.run("UPDATE run SET state=?1, reason=?2 WHERE id=1", state, reason);
}

void TaskStore::add_event(const std::string& kind, const std::optional<TaskName>& task, const std::string& text,
                          std::int64_t mono_ms, std::int64_t wall_ms) {
  std::optional<std::int64_t> row;
  if (task) {
    if (auto found = find_task(database_, *task)) row = found->row;
  }
  database_.run("INSERT INTO events(epoch,mono,wall,kind,task,data) VALUES(?1,?2,?3,?4,?5,?6)", epoch_, mono_ms,
                wall_ms, kind, row, text);
}

}  // namespace rlflow
