// Recovery of a run that was killed, paused or stopped.
#include "runtime/engine/recovery.h"

#include "runtime/contract/check.h"
#include "runtime/engine/key_check.h"
#include "runtime/engine/needed_versions.h"
#include "runtime/engine/task_key.h"
#include "runtime/store/record_queries.h"

namespace rlflow {
namespace {

TaskId id_of(const Plan& plan, const TaskName& task) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].name == task.node) return {NodeId(i), task.step};
  }
  throw StoreError(ExitCode::no, "R0212", "the run has tasks of `" + task.node + "`, which the program does not have",
                   "resume with the run's own program");
}

ValueStore::Outputs read_outputs(const RecordedParts& parts, TaskId task, std::int64_t row) {
  ValueStore::Outputs outputs;
  const PlanNode& node = parts.plan.nodes[task.node.index()];
  for (const RecordedDigest& output : outputs_of(parts.database, row)) {
    std::string what =
        "output " + std::to_string(outputs.size()) + " of `" + node.name + ":" + std::to_string(task.step) + "`";
    outputs.push_back(read_recorded(parts, node.outputs.at(outputs.size()).type.kind, output.digest, what));
  }
  return outputs;
}

void require_key(const RecordedParts& parts, TaskId task, const TaskRow& row) {
  std::vector<Edge> edges = edges_of(parts.database, row.row);
  auto inits = inits_of(parts.plan, task, edges, [&parts](double init) {
    HashSink hash;
    parts.library.make_scalar(init)->write(hash);
    return hash.finish();
  });
  if (task_key(parts.database, parts.plan, parts.graph, parts.seed, task, edges, inits) == row.key) return;
  throw StoreError(ExitCode::no, "R0212",
                   "task `" + to_text(row.task) + "` was recorded under other settings than the program gives it now",
                   "resume without changed settings, or start another run");
}

// Whether the task can run again: what it reads of its model is still there, or will be.
bool can_run_again(const RecordedParts& parts, TaskId task) {
  const PlanNode& node = parts.plan.nodes[task.node.index()];
  if (parts.graph.is_update(task.node) || parts.graph.is_checkpoint(task.node)) return false;
  if (!node.model.valid() || !parts.graph.versioned(node.model) || parts.graph.reads_copy(task.node)) return true;
  auto head = head_of(parts.database, parts.plan.models[node.model.index()].name);
  return head && *head == parts.graph.version_read(task.node, task.step);
}

StoredTask read_done(const RecordedParts& parts, TaskId task, const TaskRow& row, EventBus& events) {
  require_key(parts, task, row);
  StoredTask stored;
  stored.attempts = row.attempts;
  try {
    stored.outputs = read_outputs(parts, task, row.row);
    stored.answered = true;
  } catch (const StoreError& error) {
    if (!can_run_again(parts, task)) throw;
    events.warn(std::string(error.what()) + "; `" + to_text(row.task) + "` runs again");
    for (const RecordedDigest& output : outputs_of(parts.database, row.row)) parts.artifacts.remove(output.digest);
  }
  return stored;
}

void read_last_values(const RecordedParts& parts, Recovered& recovered) {
  for (std::size_t i = 0; i < parts.plan.nodes.size(); ++i) {
    if (!parts.graph.keeps_last_value(NodeId(i))) continue;
    auto row = newest_done(parts.database, parts.plan.nodes[i].name, recovered.committed);
    if (!row) continue;
    TaskId task{NodeId(i), row->task.step};
    recovered.values.put(task, read_outputs(parts, task, row->row));
  }
}

}  // namespace

Recovered recover_tasks(const RecordedParts& parts, TaskStore& tasks, EventBus& events) {
  Recovered recovered;
  recovered.committed = committed_step(parts.database);
  read_last_values(parts, recovered);
  Transaction transaction(parts.database);
  tasks.require_epoch();
  for (const TaskRow& row : tasks_after(parts.database, recovered.committed)) {
    TaskId task = id_of(parts.plan, row.task);
    bool wanted = parts.graph.due(task.node, task.step) && task.step <= parts.plan.stop_after;
    if (row.state == "admitted" && !wanted) tasks.cancel(row.task);
    if (row.state == "cancelled" && wanted) tasks.readmit(row.task);
    if (!wanted) continue;
    if (row.state == "done") {
      recovered.stored[task] = read_done(parts, task, row, events);
    } else {
      recovered.stored[task] = {row.state == "skipped", row.attempts, {}};
    }
  }
  transaction.commit();
  return recovered;
}

void recover_models(const RecordedParts& parts, const Recovered& recovered, ModelStates& models, Executor& executor,
                    EventBus& events) {
  for (std::size_t i = 0; i < parts.plan.models.size(); ++i) {
    ModelId model(i);
    const std::string& name = parts.plan.models[i].name;
    Version head = head_of(parts.database, name).value_or(0);
    Version needed = oldest_to_restore(parts.plan, parts.graph, model, head, recovered.committed, [&](TaskId task) {
      auto stored = recovered.stored.find(task);
      return stored != recovered.stored.end() && stored->second.answered;
    });
    Version from = newest_checkpoint(parts.database, name, needed);
    executor.run_on(parts.plan.models[i].group, [&] {
      restore_model(parts, model, models.live(model), from, head, [&](Version version, const WeightsDigest& weights) {
        models.advance(model, version, weights);
        if (head == 0) return;
        RunEvent event;
        event.type = RunEvent::Type::recovering;
        event.text = name;
        event.step = version;
        event.total = head;
        events.emit(event);
      });
    });
  }
  models.forget_copies_before(recovered.committed + 1);
}

}  // namespace rlflow
