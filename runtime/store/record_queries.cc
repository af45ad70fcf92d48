// Reading rows.
#include "runtime/store/record_queries.h"

#include <algorithm>
#include <limits>

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr const char* kTaskColumns =
    "SELECT id,node,step,slot,state,key,(SELECT count(*) FROM attempts WHERE task=id) FROM tasks ";

TaskRow task_row(const Statement& row) {
  return {row.int_at(0),
          {row.text_at(1), row.int_at(2), static_cast<std::int32_t>(row.int_at(3))},
          row.text_at(4),
          row.optional_digest_at(5),
          static_cast<std::int32_t>(row.int_at(6))};
}

RunState state_from(const std::string& text) {
  for (RunState state : {RunState::paused, RunState::stopped, RunState::done, RunState::failed}) {
    if (text == run_state_name(state)) return state;
  }
  return RunState::running;
}

void read_program(Database& database, RecordedRun& run) {
  Statement rows = database.prepare("SELECT kind,path,text FROM program ORDER BY ord");
  while (rows.step()) {
    if (rows.text_at(0) == "source") {
      run.sources.push_back({rows.text_at(1), rows.text_at(2)});
    } else {
      run.overrides.push_back(rows.text_at(2));
    }
  }
  Statement environment = database.query("SELECT name,value FROM environment WHERE epoch=?1", run.epoch);
  while (environment.step()) run.environment[environment.text_at(0)] = environment.text_at(1);
}

}  // namespace

const char* run_state_name(RunState state) {
  switch (state) {
    case RunState::running: return "running";
    case RunState::interrupted: return "interrupted";
    case RunState::paused: return "paused";
    case RunState::stopped: return "stopped";
    case RunState::done: return "done";
    case RunState::failed: return "failed";
  }
  return "?";
}

RecordedMetric metric_at(const Statement& row) {
  RecordedMetric metric{row.int_at(0), row.text_at(1), row.text_at(2), row.real_at(3), row.text_at(5), row.int_at(6)};
  if (row.null_at(4)) return metric;
  std::string text = row.text_at(4);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  metric.value = text == "nan" ? std::numeric_limits<double>::quiet_NaN() : text == "inf" ? kInfinity : -kInfinity;
  return metric;
}

RecordedRun recorded_run(Database& database) {
  Statement row = database.prepare(
      "SELECT name,flow,command,state,reason,epoch,seed,meaning,root,total,created_ms,parent,parent_step "
      "FROM run");
  if (!row.step()) {
    throw StoreError(ExitCode::store_damaged, "R0205", "`" + database.file().string() + "` records no run",
                     "the process died while it began; start the run again under another name");
  }
  RecordedRun run;
  run.name = row.text_at(0);
  run.flow = row.text_at(1);
  run.command = row.text_at(2);
  run.state = state_from(row.text_at(3));
  run.stop_reason = row.text_at(4);
  run.epoch = row.int_at(5);
  run.seed = static_cast<std::uint64_t>(row.int_at(6));
  run.meaning = row.digest_at(7);
  run.root = row.text_at(8);
  run.total = row.int_at(9);
  run.created_ms = row.int_at(10);
  run.parent = row.text_at(11);
  run.parent_step = row.int_at(12);
  run.committed = std::max<Step>(0, committed_step(database));
  read_program(database, run);
  return run;
}

Step inherited_step(Database& database) { return database.number("SELECT coalesce(parent_step,-1) FROM run"); }

Step committed_step(Database& database) { return database.number("SELECT coalesce(max(step),-1) FROM steps"); }

std::optional<TaskRow> find_task(Database& database, const TaskName& task) {
  Statement row = database.query(std::string(kTaskColumns) + "WHERE node=?1 AND step=?2 AND slot=?3", task.node,
                                 task.step, std::int64_t{task.slot});
  if (!row.step()) return std::nullopt;
  return task_row(row);
}

std::vector<TaskRow> tasks_after(Database& database, Step step) {
  std::vector<TaskRow> tasks;
  Statement rows = database.query(std::string(kTaskColumns) + "WHERE step>?1 ORDER BY step,id", step);
  while (rows.step()) tasks.push_back(task_row(rows));
  return tasks;
}

std::optional<TaskRow> newest_done(Database& database, const std::string& node, Step step) {
  Statement row = database.query(
      std::string(kTaskColumns) + "WHERE node=?1 AND step<=?2 AND state='done' ORDER BY step DESC LIMIT 1", node, step);
  if (!row.step()) return std::nullopt;
  return task_row(row);
}

std::vector<RecordedDigest> outputs_of(Database& database, std::int64_t task) {
  std::vector<RecordedDigest> outputs;
  Statement rows = database.query(
      "SELECT o.digest,a.kind FROM outputs AS o JOIN artifacts AS a ON a.digest=o.digest WHERE task=?1 ORDER BY port",
      task);
  while (rows.step()) outputs.push_back({rows.digest_at(0), rows.text_at(1)});
  return outputs;
}

bool collected(Database& database, const Digest& digest) {
  return database.query("SELECT 1 FROM artifacts WHERE digest=?1 AND state!='live'", digest).step();
}

std::vector<Edge> edges_of(Database& database, std::int64_t task) {
  std::vector<Edge> edges;
  Statement rows = database.query(
      "SELECT node,step,slot,src_port,dst_port FROM edges JOIN tasks ON id=src WHERE dst=?1 ORDER BY dst_port", task);
  while (rows.step()) {
    edges.push_back({{rows.text_at(0), rows.int_at(1), static_cast<std::int32_t>(rows.int_at(2))},
                     static_cast<std::int32_t>(rows.int_at(3)),
                     static_cast<std::int32_t>(rows.int_at(4))});
  }
  return edges;
}

std::optional<ModelRead> read_of(Database& database, std::int64_t task) {
  Statement row = database.query("SELECT model,version FROM reads WHERE task=?1", task);
  if (!row.step()) return std::nullopt;
  return ModelRead{row.text_at(0), row.int_at(1)};
}

std::vector<std::pair<Step, Version>> versions_read(Database& database, const std::string& node) {
  std::vector<std::pair<Step, Version>> versions;
  Statement rows =
      database.query("SELECT t.step,r.version FROM tasks AS t JOIN reads AS r ON r.task=t.id WHERE t.node=?1", node);
  while (rows.step()) versions.emplace_back(rows.int_at(0), rows.int_at(1));
  return versions;
}

std::map<std::string, std::string> decisions_of(Database& database, std::int64_t task) {
  std::map<std::string, std::string> decisions;
  Statement rows = database.query("SELECT name,value FROM decisions WHERE task=?1", task);
  while (rows.step()) decisions[rows.text_at(0)] = rows.text_at(1);
  return decisions;
}

std::optional<Version> head_of(Database& database, const std::string& model) {
  Statement row = database.query("SELECT head FROM heads WHERE model=?1", model);
  if (!row.step()) return std::nullopt;
  return row.int_at(0);
}

std::optional<VersionState> find_version(Database& database, const std::string& model, Version version) {
  Statement row = database.query(
      "SELECT outcome,wdigest,lineage,sdigest,ckpt,batch,update_task FROM versions WHERE model=?1 AND version=?2",
      model, version);
  if (!row.step()) return std::nullopt;
  VersionState state{row.text_at(0),
                     row.weights_digest_at(1),
                     row.digest_at(2),
                     row.optional_digest_at(3),
                     row.optional_digest_at(4),
                     row.optional_digest_at(5),
                     {}};
  if (!row.null_at(6)) state.update_task = row.int_at(6);
  return state;
}

Version newest_checkpoint(Database& database, const std::string& model, Version version) {
  Statement row = database.query(
      "SELECT max(version) FROM versions WHERE model=?1 AND version<=?2 AND ckpt IS NOT NULL", model, version);
  RLFLOW_CHECK(row.step(), "an aggregate gives a row");
  return row.int_at(0);
}

std::vector<Member> members_of(Database& database, const Digest& manifest) {
  std::vector<Member> members;
  Statement rows = database.query("SELECT name,part FROM members WHERE manifest=?1 ORDER BY name", manifest);
  while (rows.step()) members.push_back({rows.text_at(0), rows.digest_at(1)});
  return members;
}

std::vector<RecordedMetric> metrics_of(Database& database, Step step) {
  std::vector<RecordedMetric> metrics;
  Statement rows = database.query(
      "SELECT step,node,name,value,nonfinite,model,version FROM metrics WHERE step=?1 ORDER BY node,name", step);
  while (rows.step()) metrics.push_back(metric_at(rows));
  return metrics;
}

std::vector<HashedFile> recorded_files(Database& database) {
  std::vector<HashedFile> files;
  Statement rows = database.prepare("SELECT path,digest,bytes FROM files ORDER BY path");
  while (rows.step()) {
    files.push_back({rows.text_at(0), rows.digest_at(1), static_cast<std::uint64_t>(rows.int_at(2))});
  }
  return files;
}

}  // namespace rlflow
