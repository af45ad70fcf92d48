// What do the rows of a run say? Questions asked by recovery, replay and the read-only view.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/store/run_reader.h"
#include "runtime/store/task_store.h"

namespace rlflow {

struct TaskRow {
  std::int64_t row = 0;
  TaskName task;
  std::string state;
  std::optional<Digest> key;
  std::int32_t attempts = 0;  // so far, lost ones included
};
struct RecordedDigest {
  Digest digest;
  std::string kind;
};
struct VersionState {
  std::string outcome;
  WeightsDigest weights;
  Digest lineage;
  std::optional<Digest> state;       // where a checkpoint was taken
  std::optional<Digest> checkpoint;  // manifest
  std::optional<Digest> batch;       // manifest of the update's inputs
  std::optional<std::int64_t> update_task;
};

RecordedMetric metric_at(const Statement& row);  // step,node,name,value,nonfinite,model,version
RecordedRun recorded_run(Database& database);    // state as recorded; holder_pid is not known here
Step inherited_step(Database& database);         // of a fork: its last step that its parent made; -1 in no fork
Step committed_step(Database& database);         // -1 before step 0
std::optional<TaskRow> find_task(Database& database, const TaskName& task);
std::vector<TaskRow> tasks_after(Database& database, Step step);  // of later steps, by step and row
// The newest done task of a node at or before a step: what `prev` and a carried input read.
std::optional<TaskRow> newest_done(Database& database, const std::string& node, Step step);
std::vector<RecordedDigest> outputs_of(Database& database, std::int64_t task);  // by port
bool collected(Database& database, const Digest& digest);  // condemned or gone: nobody may rely on its file
std::vector<Edge> edges_of(Database& database, std::int64_t task);
std::optional<ModelRead> read_of(Database& database, std::int64_t task);
// What the tasks of a node have read of their model, by step.
std::vector<std::pair<Step, Version>> versions_read(Database& database, const std::string& node);
std::map<std::string, std::string> decisions_of(Database& database, std::int64_t task);

std::optional<Version> head_of(Database& database, const std::string& model);
std::optional<VersionState> find_version(Database& database, const std::string& model, Version version);
Version newest_checkpoint(Database& database, const std::string& model, Version version);  // at or below it
std::vector<Member> members_of(Database& database, const Digest& manifest);                // by name
std::vector<RecordedMetric> metrics_of(Database& database, Step step);                     // by node, name
std::vector<HashedFile> recorded_files(Database& database);

}  // namespace rlflow
