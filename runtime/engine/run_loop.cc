// The serial part of a run: admission, inputs, results.
#include "runtime/engine/run_loop.h"

#include <algorithm>

#include "runtime/contract/check.h"

namespace rlflow {

RunLoop::RunLoop(const Parts& parts, Step committed, ValueStore values, std::map<TaskId, StoredTask> stored)
    : parts_(parts),
      schedule_(parts.plan, parts.graph, committed),
      stream_(parts.plan, parts.graph, parts.nodes),
      values_(std::move(values)),
      stored_(std::move(stored)),
      step_ended_ms_(parts.clock.now_ms()) {
  for (std::size_t i = 0; i < parts.plan.nodes.size(); ++i) node_ids_[parts.plan.nodes[i].name] = NodeId(i);
}

std::vector<Launch> RunLoop::next(std::optional<TaskId> ended) {
  stream_.take_emissions();
  if (ended) ended->group == kWholeBatch ? handle_end(*ended) : handle_early_end(*ended);
  take_saved_checkpoints();
  if (explain_.exchange(false)) explain();
  std::vector<Launch> launches;
  for (bool moved = true; moved;) {
    moved = false;
    finish_steps();
    if (leaving()) break;
    admit_steps();
    if (!has_room()) return launches;
    for (TaskId task : schedule_.take_ready()) moved = start(task, launches) || moved;
  }
  if (leaving()) {
    drop_held();
  } else {
    start_held(launches);
    start_early(launches);
  }
  return launches;
}

bool RunLoop::finished() const {
  // A checkpoint that the broken writer holds will never be told as saved.
  std::size_t lost = parts_.recorder.failed() ? checkpoints_being_saved_ : 0;
  return schedule_.running() == lost && stream_.running() == 0 && (leaving() || schedule_.all_finished());
}

// Back-pressure: results wait in memory for the disk. Each commit wakes the executor, so this is asked again.
bool RunLoop::has_room() {
  waits_for_room_ = parts_.recorder.waiting_bytes() > parts_.waiting_bytes;
  return !waits_for_room_;
}

void RunLoop::admit_steps() {
  while (auto step = schedule_.admit(parts_.recorder.durable_step())) {
    std::vector<TaskName> names;
    std::vector<std::int32_t> ports;
    for (TaskId task : schedule_.tasks_of(*step)) {
      names.push_back(name_of(task));
      ports.push_back(static_cast<std::int32_t>(plan_node(task).outputs.size()));
    }
    parts_.recorder.admit(std::move(names), std::move(ports));
    for (TaskId task : schedule_.tasks_of(*step)) {
      auto stored = stored_.find(task);
      if (stored != stored_.end() && stored->second.answered) answer(task, std::move(stored->second));
    }
    finish_steps();
  }
}

void RunLoop::answer(TaskId task, StoredTask stored) {
  if (!stored.outputs.empty()) values_.put(task, std::move(stored.outputs));
  schedule_.finish(task);
}

bool RunLoop::start(TaskId task, std::vector<Launch>& launches) {
  if (parts_.graph.is_checkpoint(task.node) && !parts_.graph.skipped(task.node, task.step)) {
    start_checkpoint(task);
    return false;
  }
  if (parts_.graph.skipped(task.node, task.step) && !parts_.graph.is_update(task.node)) {
    parts_.recorder.skipped(task, std::nullopt);
    schedule_.finish(task);
    return true;
  }
  auto launched = std::make_unique<Launched>();
  launched->completed.task = task;
  if (!parts_.graph.skipped(task.node, task.step)) {
    choose_version(task);
    resolve_inputs(task, *launched);
  }
  {
    std::lock_guard lock(mutex_);
    launched_[task] = std::move(launched);
  }
  if (stream_.begin_whole(task)) {
    launch(task, launches);
  } else {
    held_.push_back(task);
  }
  return false;
}

// `lag <= L`: the newest version that is there. What a task has read is part of its record, and so is this choice.
void RunLoop::choose_version(TaskId task) {
  if (!parts_.graph.chooses(task.node) || parts_.graph.has_chosen(task.node, task.step)) return;
  const ReplicaId replica = plan_node(task).replica;
  const std::int64_t every = parts_.plan.replicas[replica.index()].every;
  std::optional<Version> newest = parts_.models.newest_copy(replica, std::max<Version>(task.step - 1, 0));
  while (newest && *newest % every != 0) newest = parts_.models.newest_copy(replica, *newest - 1);
  RLFLOW_CHECK(newest, plan_node(task).name + " starts before any version that it may read");
  parts_.graph.choose(task.node, task.step, *newest);
}

void RunLoop::resolve_inputs(TaskId task, Launched& launched) {
  const PlanNode& node = plan_node(task);
  launched.inputs.payloads.resize(node.inputs.size());
  for (std::size_t port = 0; port < node.inputs.size(); ++port) resolve_input(task, port, launched);
  resolve_carried(task, launched);
  launched.inputs.model = parts_.models.instance_for(task.node, task.step);
  launched.context.step = task.step;
  launched.context.run_seed = parts_.seed;
  launched.context.version =
      parts_.graph.is_update(task.node) ? task.step : parts_.graph.version_read(task.node, task.step);
  auto stored = stored_.find(task);
  if (stored != stored_.end()) launched.context.attempt = stored->second.attempts + 1;
  if (!stream_.emits(task.node)) return;
  launched.context.emit = [this, task, &launched](std::int32_t group, std::vector<PayloadPtr> outputs) {
    stream_.emitted(task, launched.attempt, group, std::move(outputs));
    parts_.executor.wake();
  };
}

void RunLoop::resolve_input(TaskId task, std::size_t port, Launched& launched) {
  const PlanInput& input = plan_node(task).inputs[port];
  if (!input.node.valid()) return;
  std::optional<Step> step = task.step;
  if (input.previous_step) step = values_.newest_before(input.node, task.step);
  auto to_port = static_cast<std::int32_t>(port);
  const ValueStore::Outputs* outputs = step ? values_.at(input.node, *step) : nullptr;
  if (outputs) {
    launched.inputs.payloads[port] = outputs->at(static_cast<std::size_t>(input.port));
    launched.completed.edges.push_back({name_of({input.node, *step}), input.port, to_port});
  } else if (input.previous_step) {
    launched.inputs.payloads[port] = parts_.library.make_scalar(input.init);
    launched.completed.inits[to_port] = launched.inputs.payloads[port];
  }  // else its node was skipped: an optional input that is absent
}

void RunLoop::resolve_carried(TaskId task, Launched& launched) {
  const PlanNode& node = plan_node(task);
  for (std::size_t port = 0; port < node.outputs.size(); ++port) {
    if (node.outputs[port].type.kind != Kind::cursor) continue;
    std::optional<Step> step = values_.newest_before(task.node, task.step);
    if (!step) return;
    launched.inputs.carried = values_.at(task.node, *step)->at(port);
    launched.completed.edges.push_back({name_of({task.node, *step}), static_cast<std::int32_t>(port), kCarriedPort});
  }
}

void RunLoop::start_checkpoint(TaskId task) {
  CheckpointRequest request;
  request.step = task.step;
  request.task = task;
  for (ModelId model : parts_.graph.versioned_models()) {
    request.models.push_back({model, parts_.models.version(model), &parts_.models.live(model)});
  }
  const Attributes& settings = plan_node(task).settings;
  if (has(settings, "keep")) request.keep = int_at(settings, "keep");
  request.saved = [this, task] {
    {
      std::lock_guard lock(mutex_);
      saved_checkpoints_.push_back(task);
    }
    parts_.executor.wake();
  };
  ++checkpoints_being_saved_;
  parts_.recorder.checkpoint(std::move(request));
}

void RunLoop::take_saved_checkpoints() {
  std::vector<TaskId> saved;
  {
    std::lock_guard lock(mutex_);
    saved.swap(saved_checkpoints_);
  }
  for (TaskId task : saved) {
    --checkpoints_being_saved_;
    schedule_.finish(task);
  }
}

std::unique_ptr<RunLoop::Launched> RunLoop::take_launched(TaskId task) {
  std::lock_guard lock(mutex_);
  auto found = launched_.find(task);
  std::unique_ptr<Launched> launched = std::move(found->second);
  launched_.erase(found);
  return launched;
}

void RunLoop::handle_end(TaskId task) {
  std::unique_ptr<Launched> launched = take_launched(task);
  stream_.end_whole(task);
  if (launched->broken || launched->report.failure) {
    schedule_.give_up(task);
    return handle_failure(task, *launched);
  }
  handle_result(task, *launched);
  schedule_.finish(task);
}

void RunLoop::handle_result(TaskId task, Launched& launched) {
  if (!launched.report.result) {  // a held update
    parts_.recorder.skipped(task, parts_.models.weights(plan_node(task).model));
    return;
  }
  TaskResult& result = *launched.report.result;
  RunEvent event = event_of(RunEvent::Type::task_done, name_of(task));
  event.attempt = launched.report.attempt;
  event.milliseconds = launched.report.milliseconds;
  event.metrics = result.metrics;
  event.samples = result.samples;
  if (parts_.graph.is_update(task.node)) watch_skips(task, *result.update);
  tell_once(task, result.warnings);
  values_.put(task, result.outputs);
  launched.completed.result = std::move(result);
  launched.completed.attempt = launched.report.attempt;
  launched.completed.milliseconds = launched.report.milliseconds;
  parts_.recorder.completed(std::move(launched.completed));
  parts_.events.emit(event);
}

void RunLoop::tell_once(TaskId task, const std::vector<std::string>& warnings) {
  for (const std::string& text : warnings) {
    if (!told_.insert(text).second) continue;
    parts_.events.warn(text);
    parts_.recorder.event("warning", name_of(task), text);
  }
}

void RunLoop::watch_skips(TaskId task, const UpdateOutcome& update) {
  constexpr int kSkipsThatStop = 3;
  int& skips = skips_in_a_row_[plan_node(task).model];
  skips = update.planned > 0 && update.applied == 0 ? skips + 1 : 0;
  if (skips < kSkipsThatStop) return;
  failure_ = Outcome{ExitCode::person_must_act, "R0104",
                     "`" + plan_node(task).name + "` skipped " + std::to_string(skips) +
                         " steps in a row: the loss or the gradient is not finite",
                     "lower the learning rate or look at the rewards, then resume or start anew", task.node};
}

void RunLoop::finish_steps() {
  for (Step step : schedule_.take_finished_steps()) {
    double now = parts_.clock.now_ms();
    parts_.recorder.step_finished(step, now - step_ended_ms_);
    step_ended_ms_ = now;
    values_.forget_through(step, parts_.graph);
    stream_.forget_through(step);
    parts_.models.forget_copies_before(step + 1);
  }
}

void RunLoop::explain() {
  for (const std::string& line : parts_.watchdog.running()) parts_.events.warn(line);
  for (TaskId task : held_) parts_.events.warn(to_text(name_of(task)) + " waits for its own early work");
  if (waits_for_room_) {
    parts_.events.warn("no task is started: results of " + std::to_string(parts_.recorder.waiting_bytes()) +
                       " bytes wait for the disk");
  }
  for (const std::string& line : schedule_.waiting()) parts_.events.warn(line);
}

}  // namespace rlflow
