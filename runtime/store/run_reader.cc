// The read-only view of a run.
#include "runtime/store/run_reader.h"

#include <algorithm>

#include "runtime/store/artifact_store.h"
#include "runtime/store/bundle_rows.h"
#include "runtime/store/record_queries.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/schema.h"
#include "runtime/store/task_history.h"

namespace rlflow {
namespace {

RunSummary summary_of(const std::filesystem::path& folder) {
  RunSummary summary;
  summary.name = folder.filename().string();
  summary.path = folder;
  try {
    RecordedRun run = RunReader(folder).run();
    summary.name = run.name;
    summary.state = run.state;
    summary.flow = run.flow;
    summary.committed = run.committed;
    summary.total = run.total;
    summary.created_ms = run.created_ms;
  } catch (const StoreError& error) {
    summary.problem = error.what();
  }
  return summary;
}

}  // namespace

std::vector<RunSummary> list_runs(const std::filesystem::path& runs_dir) {
  std::vector<RunSummary> runs;
  PosixFiles files;
  for (const std::filesystem::path& folder : files.list(runs_dir)) {
    bool staged = folder.filename().string().starts_with('.');  // not born yet
    if (!staged && files.size(folder / kDatabaseName)) runs.push_back(summary_of(folder));
  }
  std::sort(runs.begin(), runs.end(), [](const RunSummary& a, const RunSummary& b) {
    return a.created_ms != b.created_ms ? a.created_ms > b.created_ms : a.path < b.path;
  });
  return runs;
}

struct RunReader::Connection {
  explicit Connection(const std::filesystem::path& run_dir)
      : folder(run_dir), database(run_dir / kDatabaseName, Database::Mode::read), artifacts(files, run_dir) {}

  std::filesystem::path folder;
  PosixFiles files;
  mutable Database database;
  ArtifactStore artifacts;
};

RunReader::RunReader(const std::filesystem::path& run_dir) {
  PosixFiles files;
  require_run(files, run_dir);
  connection_ = std::make_unique<Connection>(run_dir);
  check_schema(connection_->database);
}
RunReader::~RunReader() = default;

RecordedRun RunReader::run() const {
  // The holder is asked for first: a run that ends in between then shows its final state, not "interrupted".
  std::int64_t holder = run_holder(connection_->folder);
  RecordedRun run = recorded_run(connection_->database);
  if (auto task = bundled_task(connection_->database)) {
    run.bundle = to_text(*task);
    run.root = (std::filesystem::absolute(connection_->folder) / run.root).lexically_normal().string();
  }
  if (run.state == RunState::running) {
    run.holder_pid = holder;
    if (holder == 0) run.state = RunState::interrupted;
  }
  return run;
}

std::vector<RecordedTask> RunReader::tasks(Step step) const {
  Database& database = connection_->database;
  std::vector<RecordedTask> tasks;
  Statement rows = database.query(
      "SELECT id,node,slot,state,failures,err,key,(SELECT count(*) FROM attempts WHERE task=id),"
      "(SELECT ms FROM attempts WHERE task=id AND ms IS NOT NULL ORDER BY n DESC LIMIT 1) "
      "FROM tasks WHERE step=?1 ORDER BY id",
      step);
  while (rows.step()) {
    RecordedTask task;
    task.node = rows.text_at(1);
    task.step = step;
    task.slot = static_cast<std::int32_t>(rows.int_at(2));
    task.state = rows.text_at(3);
    task.failures = static_cast<std::int32_t>(rows.int_at(4));
    task.error = rows.text_at(5);
    task.key = rows.optional_digest_at(6);
    task.attempts = static_cast<std::int32_t>(rows.int_at(7));
    task.milliseconds = rows.real_at(8);
    Statement outputs = database.query(
        "SELECT port,kind,o.digest,bytes FROM outputs AS o JOIN artifacts AS a ON a.digest=o.digest WHERE task=?1 "
        "ORDER BY port",
        rows.int_at(0));
    while (outputs.step()) {
      task.outputs.push_back({static_cast<std::int32_t>(outputs.int_at(0)), outputs.text_at(1), outputs.digest_at(2),
                              static_cast<std::uint64_t>(outputs.int_at(3))});
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::optional<TaskHistory> RunReader::history(const std::string& node, Step step, std::int32_t slot) const {
  for (RecordedTask& task : tasks(step)) {
    if (task.node != node || task.slot != slot) continue;
    return history_of(connection_->database, std::move(task));
  }
  return std::nullopt;
}

std::vector<RecordedVersion> RunReader::versions(const std::string& model) const {
  std::vector<RecordedVersion> versions;
  Statement rows = connection_->database.query(
      "SELECT model,version,outcome,wdigest,ckpt IS NOT NULL FROM versions WHERE ?1='' OR model=?1 "
      "ORDER BY model,version",
      model);
  while (rows.step()) {
    versions.push_back(
        {rows.text_at(0), rows.int_at(1), rows.text_at(2), rows.weights_digest_at(3), rows.int_at(4) != 0});
  }
  return versions;
}

std::vector<RecordedMetric> RunReader::metrics(const std::string& node, const std::string& name) const {
  std::vector<RecordedMetric> metrics;
  Statement rows = connection_->database.query(
      "SELECT step,node,name,value,nonfinite,model,version FROM metrics WHERE (?1='' OR node=?1) AND (?2='' OR "
      "name=?2) ORDER BY step,node,name",
      node, name);
  while (rows.step()) metrics.push_back(metric_at(rows));
  return metrics;
}

std::vector<RecordedEvent> RunReader::events() const {
  std::vector<RecordedEvent> events;
  Statement rows = connection_->database.prepare(
      "SELECT seq,e.epoch,wall,kind,node,step,slot,data FROM events AS e LEFT JOIN tasks AS t ON t.id=e.task "
      "ORDER BY seq");
  while (rows.step()) {
    std::string task;
    if (!rows.null_at(4)) {
      task = to_text({rows.text_at(4), rows.int_at(5), static_cast<std::int32_t>(rows.int_at(6))});
    }
    events.push_back({rows.int_at(0), rows.int_at(1), rows.int_at(2), rows.text_at(3), task, rows.text_at(7)});
  }
  return events;
}

std::vector<std::byte> RunReader::artifact(const Digest& digest) const { return connection_->artifacts.get(digest); }

}  // namespace rlflow
