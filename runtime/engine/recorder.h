// How does what happens in a run become its record? Typed calls from the engine, rows and artifacts on the writer.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/contract/node.h"
#include "runtime/engine/clock.h"
#include "runtime/engine/commit_queue.h"
#include "runtime/engine/event_bus.h"
#include "runtime/engine/step_graph.h"
#include "runtime/store/artifact_store.h"
#include "runtime/store/task_store.h"

namespace rlflow {

// A task that gave its result.
struct CompletedTask {
  TaskId task;
  TaskResult result;
  std::vector<Edge> edges;                   // where its inputs came from
  std::map<std::int32_t, PayloadPtr> inits;  // inputs made by `prev(…, init=…)`
  std::int32_t attempt = 1;
  double milliseconds = 0;
  std::optional<WeightsDigest> weights;  // of the version that an update made
};

struct CheckpointModel {
  ModelId model;
  Version version = 0;
  const ModelInstance* instance = nullptr;  // not written to until `saved` was called
};

struct CheckpointRequest {
  Step step = 0;
  std::vector<CheckpointModel> models;
  std::optional<TaskId> task;   // the checkpoint node's; nullopt: pause, stop or completion
  std::int64_t keep = 0;        // newest checkpoints that stay; 0: all
  std::function<void()> saved;  // the models may move on
};

// Any thread may call; nothing waits for the disk but `flush`. Order of calls is the order of the record, so a task
// is recorded after what it reads. Failures come out of `flush` and show in `failed`.
class Recorder {
 public:
  struct Parts {
    const Plan& plan;
    const StepGraph& graph;
    std::uint64_t seed;
    Database& database;
    TaskStore& tasks;
    ArtifactStore& artifacts;
    EventBus& events;
    const Clock& clock;
  };
  Recorder(const Parts& parts, CommitQueue::Mode mode, Step committed, std::function<void()> on_commit);

  void admit(std::vector<TaskName> tasks, std::vector<std::int32_t> ports);
  void attempt_started(const TaskName& task, std::int32_t attempt);
  void attempt_ended(const TaskName& task, const AttemptEnd& end);
  void completed(CompletedTask task);
  void skipped(TaskId task, std::optional<WeightsDigest> held);  // held: an update's, of the unchanged weights
  void failed_for_good(TaskId task);
  void step_finished(Step step, double milliseconds);
  void checkpoint(CheckpointRequest request);
  void event(const std::string& kind, std::optional<TaskName> task, const std::string& text);
  void set_state(const std::string& state, const std::string& reason);

  void flush() { queue_.flush(); }
  void flush_quietly();  // for a process that leaves in any case
  bool failed() const { return queue_.failed(); }
  Step durable_step() const { return durable_step_.load(); }
  // Of results that wait in memory for their commit.
  std::uint64_t waiting_bytes() const { return waiting_bytes_.load(); }

 private:
  TaskName name_of(TaskId task) const;
  void record(const CompletedTask& task);
  NewVersion new_version(const CompletedTask& task, const Digest& key, const std::map<std::int32_t, Digest>& inits);
  Manifest batch_of(const CompletedTask& task, const std::map<std::int32_t, Digest>& inits);
  Manifest put_manifest(const std::string& kind, std::vector<Member> members);
  void tell_evaluated(const CompletedTask& task);
  void tell_step(Step step, double milliseconds);
  void save(const CheckpointRequest& request);
  void prune(std::int64_t keep);

  Parts parts_;
  std::atomic<Step> durable_step_;
  std::atomic<std::uint64_t> waiting_bytes_ = 0;
  CommitQueue queue_;
};

}  // namespace rlflow
