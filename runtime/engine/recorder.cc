// Results as artifacts and rows, in the order they came.
#include "runtime/engine/recorder.h"

#include <algorithm>

#include "runtime/contract/check.h"
#include "runtime/engine/needed_versions.h"
#include "runtime/engine/task_key.h"
#include "runtime/store/collection.h"
#include "runtime/store/failpoint.h"
#include "runtime/store/record_queries.h"

namespace rlflow {
namespace {

std::string outcome_text(const UpdateOutcome& update) {
  if (update.planned == 0) return "held";
  if (update.applied == 0) return "skipped";
  return update.applied == update.planned ? "applied" : "partial";
}

RunEvent event_of(RunEvent::Type type, NodeId node, Step step) {
  RunEvent event;
  event.type = type;
  event.node = node;
  event.step = step;
  return event;
}

}  // namespace

Recorder::Recorder(const Parts& parts, CommitQueue::Mode mode, Step committed, std::function<void()> on_commit)
    : parts_(parts), durable_step_(committed), queue_(parts.database, parts.tasks, mode, std::move(on_commit)) {}

TaskName Recorder::name_of(TaskId task) const { return {parts_.plan.nodes[task.node.index()].name, task.step, 0}; }

void Recorder::admit(std::vector<TaskName> tasks, std::vector<std::int32_t> ports) {
  queue_.post([this, tasks = std::move(tasks), ports = std::move(ports)] {
    std::vector<NewTask> rows;
    for (std::size_t i = 0; i < tasks.size(); ++i) rows.push_back({tasks[i], ports[i]});
    parts_.tasks.admit(rows);
  });
}

void Recorder::attempt_started(const TaskName& task, std::int32_t attempt) {
  queue_.post([this, task, attempt] { parts_.tasks.start_attempt(task, attempt); });
}

void Recorder::attempt_ended(const TaskName& task, const AttemptEnd& end) {
  queue_.post([this, task, end] { parts_.tasks.end_attempt(task, end); });
}

void Recorder::failed_for_good(TaskId task) {
  queue_.post([this, task] { parts_.tasks.fail(name_of(task)); });
}

void Recorder::event(const std::string& kind, std::optional<TaskName> task, const std::string& text) {
  auto mono = static_cast<std::int64_t>(parts_.clock.now_ms());
  std::int64_t wall = parts_.clock.wall_ms();
  queue_.post([=, this] { parts_.tasks.add_event(kind, task, text, mono, wall); });
}

void Recorder::set_state(const std::string& state, const std::string& reason) {
  queue_.post([=, this] { parts_.tasks.set_state(state, reason); });
}

void Recorder::flush_quietly() {
  try {
    queue_.flush();
  } catch (const StoreError&) {
    return;  // the failure ends the process that is ending
  }
}

void Recorder::completed(CompletedTask task) {
  // Counted for as long as the job holds the payloads.
  struct Waiting {
    Waiting(std::atomic<std::uint64_t>& sum, std::uint64_t size) : total(sum), bytes(size) { total += bytes; }
    ~Waiting() { total -= bytes; }
    std::atomic<std::uint64_t>& total;
    const std::uint64_t bytes;
  };
  std::uint64_t bytes = 0;
  for (const PayloadPtr& output : task.result.outputs) bytes += output->memory_bytes();
  auto waiting = std::make_shared<Waiting>(waiting_bytes_, bytes);  // shared: a job can be copied
  queue_.post([this, task = std::move(task), waiting = std::move(waiting)] { record(task); });
}

void Recorder::record(const CompletedTask& task) {
  const PlanNode& node = parts_.plan.nodes[task.task.node.index()];
  FinishedTask finished;
  finished.task = name_of(task.task);
  for (const PayloadPtr& output : task.result.outputs) finished.outputs.push_back(parts_.artifacts.put(*output));
  // What `prev(…, init=…)` made is an input like any other.
  std::map<std::int32_t, Digest> inits;
  for (const auto& [port, payload] : task.inits) {
    Artifact artifact = parts_.artifacts.put(*payload);
    parts_.tasks.add_artifact(artifact);
    inits[port] = artifact.digest;
  }
  finished.edges = task.edges;
  finished.decisions = task.result.decisions;
  finished.metrics = task.result.metrics;
  finished.attempt = task.attempt;
  finished.milliseconds = task.milliseconds;
  finished.key = task_key(parts_.database, parts_.plan, parts_.graph, parts_.seed, task.task, task.edges, inits);
  if (node.model.valid()) {
    const std::string& model = parts_.plan.models[node.model.index()].name;
    finished.read = ModelRead{model, parts_.graph.version_read(task.task.node, task.task.step)};
    finished.described = finished.read;
    if (parts_.graph.is_update(task.task.node)) {
      finished.described->version = task.task.step;
      finished.version = new_version(task, finished.key, inits);
    }
  }
  parts_.tasks.finish(finished);
  if (parts_.graph.in_block(task.task.node)) queue_.after_commit([this, task] { tell_evaluated(task); });
}

NewVersion Recorder::new_version(const CompletedTask& task, const Digest& key,
                                 const std::map<std::int32_t, Digest>& inits) {
  RLFLOW_CHECK(task.weights && task.result.update, "an update gives weights and an outcome");
  NewVersion version;
  version.model = parts_.plan.models[parts_.plan.nodes[task.task.node.index()].model.index()].name;
  version.version = task.task.step;
  version.steps = *task.result.update;
  version.outcome = outcome_text(version.steps);
  version.weights = *task.weights;
  version.lineage = next_lineage(key, version.weights);
  version.batch = batch_of(task, inits);
  return version;
}

// All that the update read, so that it can be done again without running what made it.
Manifest Recorder::batch_of(const CompletedTask& task, const std::map<std::int32_t, Digest>& inits) {
  std::vector<Member> members;
  for (const auto& [port, digest] : inits) members.push_back({std::to_string(port), digest});
  for (const Edge& edge : task.edges) {
    auto source = find_task(parts_.database, edge.source);
    RLFLOW_CHECK(source, to_text(edge.source) + " is not recorded");
    auto outputs = outputs_of(parts_.database, source->row);
    members.push_back({std::to_string(edge.port), outputs.at(static_cast<std::size_t>(edge.source_port)).digest});
  }
  return put_manifest("batch", std::move(members));
}

Manifest Recorder::put_manifest(const std::string& kind, std::vector<Member> members) {
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.name < b.name; });
  std::string text = manifest_text(kind, members);
  Artifact artifact =
      parts_.artifacts.put("manifest", [&](ByteSink& sink) { sink.write(std::as_bytes(std::span(text))); });
  return {artifact, std::move(members)};
}

void Recorder::skipped(TaskId task, std::optional<WeightsDigest> held) {
  queue_.post([this, task, held] {
    std::optional<NewVersion> version;
    if (held) {
      const PlanNode& node = parts_.plan.nodes[task.node.index()];
      version.emplace();
      version->model = parts_.plan.models[node.model.index()].name;
      version->version = task.step;
      version->outcome = "held";
      version->weights = *held;
      auto parent = find_version(parts_.database, version->model, task.step - 1);
      RLFLOW_CHECK(parent, "versions are gapless");
      version->lineage = parent->lineage;
    }
    parts_.tasks.skip(name_of(task), version);
  });
}

void Recorder::step_finished(Step step, double milliseconds) {
  queue_.post([this, step, milliseconds] {
    parts_.tasks.commit_step(step, milliseconds);
    queue_.after_commit([this, step, milliseconds] {
      durable_step_ = step;
      tell_step(step, milliseconds);
    });
  });
}

void Recorder::tell_step(Step step, double milliseconds) {
  if (step == 0) return;  // what ran at the start was told by its own events
  RunEvent event = event_of(RunEvent::Type::step_committed, {}, step);
  event.total = parts_.plan.stop_after;
  event.milliseconds = milliseconds;
  for (const RecordedMetric& metric : metrics_of(parts_.database, step)) {
    event.metrics.push_back({metric.node + "." + metric.name, metric.value});
  }
  parts_.events.emit(event);
}

void Recorder::tell_evaluated(const CompletedTask& task) {
  RunEvent event = event_of(RunEvent::Type::evaluated, task.task.node, task.task.step);
  event.milliseconds = task.milliseconds;
  event.metrics = task.result.metrics;
  event.samples = task.result.samples;
  parts_.events.emit(event);
}

void Recorder::checkpoint(CheckpointRequest request) {
  queue_.post([this, request = std::move(request)] { save(request); });
}

void Recorder::save(const CheckpointRequest& request) {
  std::vector<Artifact> parts;
  std::vector<Member> members;
  std::vector<Checkpointed> versions;
  for (const CheckpointModel& saved : request.models) {
    const std::string& name = parts_.plan.models[saved.model.index()].name;
    for (const std::string& part : saved.instance->parts()) {
      parts.push_back(parts_.artifacts.put(part, [&](ByteSink& sink) { saved.instance->save(part, sink); }));
      members.push_back({name + "/" + part, parts.back().digest});
    }
    versions.push_back({name, saved.version, saved.instance->state_digest()});
  }
  if (request.saved) request.saved();
  Manifest manifest = put_manifest("checkpoint", std::move(members));
  parts_.tasks.add_checkpoint(manifest, parts, versions);
  if (request.task) {
    FinishedTask finished;
    finished.task = name_of(*request.task);
    finished.key = task_key(parts_.database, parts_.plan, parts_.graph, parts_.seed, *request.task, {}, {});
    parts_.tasks.finish(finished);
  }
  if (request.keep > 0) prune(request.keep);
  queue_.after_commit([this, node = request.task ? request.task->node : NodeId(), step = request.step] {
    parts_.events.emit(event_of(RunEvent::Type::checkpointed, node, step));
  });
}

void Recorder::prune(std::int64_t keep) {
  Step first_unfinished = committed_step(parts_.database) + 1;
  Retention retention{keep, 0, needed_versions(parts_.plan, parts_.graph, first_unfinished)};
  if (parts_.tasks.condemn_checkpoints(retention).empty()) return;
  failpoint("prune: rows condemned");
  // After the commit that condemned them; what came back to life by then is not condemned any more.
  queue_.after_commit([this] { finish_removals(parts_.database, parts_.tasks, parts_.artifacts); });
}

}  // namespace rlflow
