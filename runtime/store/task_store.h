// How do the facts of a run become rows? Each call is a part of one transaction of the caller.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"
#include "runtime/store/artifact_store.h"
#include "runtime/store/database.h"
#include "runtime/store/task_name.h"

namespace rlflow {

// A file of a model or of data that the run reads, as it was at the start.
struct HashedFile {
  std::string path;  // relative to the project root
  Digest digest;
  std::uint64_t bytes = 0;
};

struct Manifest {
  Artifact artifact;
  std::vector<Member> members;
};

struct InitialVersion {
  std::string model;
  WeightsDigest weights;
  Digest lineage;
};

struct NewRun {
  std::string name;
  std::string flow;
  std::string command;
  std::uint64_t seed = 1;
  Digest meaning;
  std::string root;
  Step total = 0;
  std::int64_t created_ms = 0;
  std::vector<PlanSource> sources;
  std::vector<std::string> overrides;
  std::map<std::string, std::string> environment;
  std::vector<HashedFile> files;
  Artifact origin;  // manifest of the source files: the checkpoint of every version 0
  std::vector<InitialVersion> models;
};

struct NewVersion {
  std::string model;
  Version version = 0;
  std::string outcome;  // applied, partial, skipped, held
  UpdateOutcome steps;
  WeightsDigest weights;
  Digest lineage;
  std::optional<Manifest> batch;  // all inputs of the update; absent for a version held by `from`
};

// An input of a task that is an output of another one. Port kCarriedPort is the carried input.
inline constexpr std::int32_t kCarriedPort = -1;
struct Edge {
  TaskName source;
  std::int32_t source_port = 0;
  std::int32_t port = 0;
};

struct ModelRead {
  std::string model;
  Version version = 0;
};

struct FinishedTask {
  TaskName task;
  Digest key;
  std::vector<Artifact> outputs;
  std::vector<Edge> edges;
  std::optional<ModelRead> read;
  std::map<std::string, std::string> decisions;
  std::vector<Metric> metrics;
  std::optional<ModelRead> described;  // the version that the metrics describe
  std::int32_t attempt = 1;
  double milliseconds = 0;
  std::optional<NewVersion> version;
};

struct AttemptEnd {
  std::int32_t attempt = 1;
  std::string ended;  // failed, timeout, stopped
  double milliseconds = 0;
  std::string detail;
};

struct NewTask {
  TaskName task;
  std::int32_t ports = 0;
};

struct Checkpointed {
  std::string model;
  Version version = 0;
  Digest state;  // ModelInstance::state_digest
};

// Which checkpoints stay. Version 0 lies in its source files and always stays.
struct Retention {
  std::int64_t keep = 1;   // the newest ones
  std::int64_t every = 0;  // besides those of versions that it divides; 0: none
  // Besides for each model the newest one at or below this: the oldest version that an unfinished step reads.
  std::map<std::string, Version> needed;
};

// Writes for one epoch of one run; used by one thread at a time. A second commit of a version, an output that is
// not live, a task without its outputs are refused by the schema (ConstraintError).
class TaskStore {
 public:
  TaskStore(Database& database, std::int64_t epoch) : database_(database), epoch_(epoch) {}

  // A fresh database: the run's row, its program, its version 0 and step 0.
  static void create_run(Database& database, const NewRun& run);
  // Opens the next epoch of an existing run, in its own transaction: state running, attempts that a killed
  // process left open become `lost`. Returns the epoch.
  static std::int64_t begin_epoch(Database& database, const std::map<std::string, std::string>& environment, Step total,
                                  const std::vector<std::string>& overrides);

  // First in each transaction of the run: StoreError R0201 where another process began a later epoch meanwhile (its
  // lock file was removed by hand, say), so that no row of two processes ever mixes.
  void require_epoch();
  void admit(std::span<const NewTask> tasks);  // those that are there already stay as they are
  // Written when it has ended, or by `write_started`, last in each transaction, which a task that is over by then
  // spares.
  void start_attempt(const TaskName& task, std::int32_t attempt);
  void write_started();
  void end_attempt(const TaskName& task, const AttemptEnd& end);
  void fail(const TaskName& task);
  void cancel(const TaskName& task);   // admitted, but the program no longer asks for it
  void readmit(const TaskName& task);  // cancelled, and the program asks for it again
  // Outputs, edges, metrics, version and head move together. A task that is done already must have given the same
  // outputs under the same key, else StoreError R0210; nothing is overwritten.
  void finish(const FinishedTask& finished);
  void skip(const TaskName& task, const std::optional<NewVersion>& held);
  void commit_step(Step step, double milliseconds);
  void add_checkpoint(const Manifest& manifest, std::span<const Artifact> parts,
                      std::span<const Checkpointed> versions);
  void add_artifact(const Artifact& artifact);  // or brings it back to life
  // Version 0 of models that the run does not know yet; `origin` names the source files that they come from.
  void add_first_versions(const Artifact& origin, std::span<const InitialVersion> models);
  void set_state(const std::string& state, const std::string& reason);
  void add_event(const std::string& kind, const std::optional<TaskName>& task, const std::string& text,
                 std::int64_t mono_ms, std::int64_t wall_ms);

  // Checkpoints that `retention` does not keep lose their rows, and what only they use is condemned. Then unlink, then
  // `mark_gone`. Returns all that is condemned.
  std::vector<Digest> condemn_checkpoints(const Retention& retention);
  // Condemns outputs of tasks before `before` and inputs of updates before it that no recovery needs; `needed` as in
  // Retention. The rows stay: who asks for what was collected is told so.
  void condemn_outputs(Step before, const std::map<std::string, Version>& needed);
  std::vector<Digest> condemned();
  void mark_gone(const Digest& digest);

 private:
  // A task of an unfinished step, as this store last wrote or read it.
  struct KnownTask {
    std::int64_t row = 0;
    bool done = false;
  };
  KnownTask& known(const TaskName& task);
  void write_attempt_end(std::int64_t row, const AttemptEnd& end);
  void set_task_state(const TaskName& task, const char* state);
  std::int64_t row_of(const TaskName& task) { return known(task).row; }
  void add_manifest(const Manifest& manifest);
  void add_version(std::int64_t task, const NewVersion& version);
  void add_metrics(const FinishedTask& finished);
  void require_same(std::int64_t task, const FinishedTask& finished);

  Database& database_;
  std::int64_t epoch_;
  std::map<TaskName, KnownTask> known_;
  std::vector<std::pair<std::int64_t, std::int32_t>> started_;  // row and attempt
};

}  // namespace rlflow
