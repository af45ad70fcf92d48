// What is recorded of a run? The read-only view that the verbs `runs`, `show` and `resume` and the pictures use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/contract/digest.h"
#include "runtime/contract/ids.h"
#include "runtime/contract/plan.h"

namespace rlflow {

enum class RunState {
  running,      // a live process holds the run
  interrupted,  // recorded as running, but nobody holds it: killed; `resume` goes on
  paused,       // by a signal
  stopped,      // by a failure that a person must look at; resumable
  done,
  failed,  // `on_failure = fail`: not resumable
};
const char* run_state_name(RunState state);

// One line of `runs`.
struct RunSummary {
  std::string name;
  std::filesystem::path path;
  std::string problem;  // why the rest could not be read ("newer than this program"); empty if it could
  RunState state = RunState::done;
  std::string flow;
  Step committed = 0;           // last step whose tasks are all durable
  Step total = 0;               // last step of the flow
  std::int64_t created_ms = 0;  // wall clock, Unix time
};

struct RecordedRun {
  std::string name;
  RunState state = RunState::done;
  std::int64_t holder_pid = 0;  // process that runs it, 0 if none
  std::int64_t epoch = 1;       // starts so far: one more than the number of resumes
  std::uint64_t seed = 1;
  std::string flow;
  std::string command;  // as the user typed it
  std::int64_t created_ms = 0;
  Step committed = 0;
  Step total = 0;
  std::string stop_reason;  // why it is stopped or failed, one line
  // What `resume`, `replay` and `export` compile again: sources[0] is the program, imports follow.
  std::vector<PlanSource> sources;
  std::string root;
  std::vector<std::string> overrides;
  std::string bundle;                              // the task whose bundle this is, "traj:42"; empty for a run
  std::string parent;                              // of a fork: the run it came from
  Step parent_step = 0;                            // and its last step that both share
  Digest meaning;                                  // semantic hash of the plan it ran with
  std::map<std::string, std::string> environment;  // of the newest epoch
};

struct RecordedOutput {
  std::int32_t port = 0;
  std::string kind;  // "traj", "reward", …
  Digest digest;
  std::uint64_t bytes = 0;
};

struct RecordedTask {
  std::string node;
  Step step = 0;
  std::int32_t slot = 0;
  std::string state;          // admitted, done, skipped, failed, cancelled
  std::int32_t attempts = 0;  // lost ones included
  std::int32_t failures = 0;
  double milliseconds = 0;  // of the last attempt that ended
  std::string error;        // of the last failure
  std::optional<Digest> key;
  std::vector<RecordedOutput> outputs;
};

struct RecordedAttempt {
  std::int32_t number = 1;
  std::int64_t epoch = 1;
  std::string ended;  // done, failed, timeout, stopped, lost; empty while it runs
  double milliseconds = 0;
  std::string detail;
};

struct RecordedInput {
  std::int32_t port = 0;  // -1: the carried input
  std::string source;     // "batch:42"
  std::int32_t source_port = 0;
  std::string kind;
  Digest digest;
  bool collected = false;  // thrown away by `gc`
};

// What led to a task, and what came of it.
struct TaskHistory {
  RecordedTask task;
  std::vector<RecordedAttempt> attempts;
  std::vector<RecordedInput> inputs;  // by port; inputs that `prev(…, init=…)` made are not among them
  std::string model;                  // which it read, and at which version; empty if none
  Version version = 0;
  std::map<std::string, std::string> decisions;
  std::vector<std::string> read_by;  // "r:42"
};

struct RecordedVersion {
  std::string model;
  Version version = 0;
  std::string outcome;  // init, applied, partial, skipped, held
  WeightsDigest weights;
  bool checkpoint = false;  // a checkpoint of it is kept (version 0: its source files)
};

struct RecordedMetric {
  Step step = 0;
  std::string node;
  std::string name;
  double value = 0;   // NaN and infinities as they were
  std::string model;  // which version it describes; empty if none
  Version version = 0;
};

struct RecordedEvent {
  std::int64_t sequence = 0;
  std::int64_t epoch = 0;
  std::int64_t wall_ms = 0;
  std::string kind;  // "warning", "failure", "resumed", "paused", …
  std::string task;  // "traj:42", empty if none
  std::string text;
};

// Every run folder below `runs_dir`, newest first; folders without a state.db are left out.
// An absent `runs_dir` gives an empty list.
std::vector<RunSummary> list_runs(const std::filesystem::path& runs_dir);

// Reads one run, also while another process runs it and after a crash. Never writes, never locks the run.
// Every call reads the newest committed state in one short transaction; one object, one thread.
// Failures throw StoreError (runtime/store/store_error.h).
class RunReader {
 public:
  explicit RunReader(const std::filesystem::path& run_dir);
  ~RunReader();
  RunReader(const RunReader&) = delete;
  RunReader& operator=(const RunReader&) = delete;

  RecordedRun run() const;
  std::vector<RecordedTask> tasks(Step step) const;  // in the order they were admitted
  std::optional<TaskHistory> history(const std::string& node, Step step, std::int32_t slot) const;
  std::vector<RecordedVersion> versions(const std::string& model) const;  // all models if empty; by model, version
  std::vector<RecordedMetric> metrics(const std::string& node = {}, const std::string& name = {}) const;  // by step
  std::vector<RecordedEvent> events() const;  // oldest first
  // Bytes of an artifact, hash checked.
  std::vector<std::byte> artifact(const Digest& digest) const;

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace rlflow
