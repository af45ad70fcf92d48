// Replay of one task: stored inputs, the model brought back, run again, compared bit by bit.
#include <algorithm>
#include <map>

#include "runtime/engine/engine.h"
#include "runtime/engine/make_executor.h"
#include "runtime/engine/outcomes.h"
#include "runtime/engine/recorded_model.h"
#include "runtime/store/record_queries.h"

namespace rlflow {
namespace {

// Why the question has no answer.
struct CannotReplay {
  std::string why;
};

// Models brought back already: a range of steps redoes no update twice.
struct KeptModel {
  Version version = 0;
  std::unique_ptr<ModelInstance> instance;
};
using KeptModels = std::map<ModelId, KeptModel>;

struct Replay {
  const Plan& plan;
  NodeLibrary& library;
  RecordedSession& session;
  Executor& executor;
  KeptModels& kept;
  ReplayReport& report;
  TaskId id;
  TaskRow row;

  const PlanNode& node() const { return plan.nodes[id.node.index()]; }
};

TaskId find_node(const Plan& plan, const TaskName& task) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].name == task.node) return {NodeId(i), task.step};
  }
  throw CannotReplay{"the program has no node `" + task.node + "`"};
}

TaskRow find_finished(Database& database, const TaskName& task) {
  auto row = find_task(database, task);
  if (!row) throw CannotReplay{"no task `" + to_text(task) + "` is recorded"};
  if (row->state != "done") throw CannotReplay{"task `" + to_text(task) + "` is not done but " + row->state};
  return *row;
}

TaskInputs read_inputs(const Replay& replay) {
  const RecordedParts& parts = replay.session.parts;
  TaskInputs inputs;
  const auto& ports = replay.node().inputs;
  inputs.payloads.resize(ports.size());
  for (std::size_t port = 0; port < ports.size(); ++port) {
    if (ports[port].node.valid() && ports[port].previous_step) {
      inputs.payloads[port] = replay.library.make_scalar(ports[port].init);
    }
  }
  for (const Edge& edge : edges_of(parts.database, replay.row.row)) {
    auto source = find_task(parts.database, edge.source);
    Digest digest = outputs_of(parts.database, source->row).at(static_cast<std::size_t>(edge.source_port)).digest;
    const PlanNode& maker = replay.plan.nodes[find_node(replay.plan, edge.source).node.index()];
    Kind kind = maker.outputs.at(static_cast<std::size_t>(edge.source_port)).type.kind;
    PayloadPtr& input =
        edge.port == kCarriedPort ? inputs.carried : inputs.payloads.at(static_cast<std::size_t>(edge.port));
    input = read_recorded(parts, kind, digest,
                          "output " + std::to_string(edge.source_port) + " of `" + to_text(edge.source) + "`");
  }
  return inputs;
}

// The model as the task found it, in `kept`; a copy of it, in `copy`, where the task read one through a replica.
ModelInstance* bring_model(const Replay& replay, std::unique_ptr<ModelInstance>& copy) {
  ModelId model = replay.node().model;
  if (!model.valid()) return nullptr;
  Version version = replay.session.graph.version_read(replay.id.node, replay.id.step);
  KeptModel& kept = replay.kept[model];
  if (!kept.instance || kept.version != version) {
    kept.instance.reset();
    kept.instance = recorded_model(replay.session, replay.executor, model, version, replay.report.redone);
    kept.version = version;
  }
  if (!replay.session.graph.reads_copy(replay.id.node)) return kept.instance.get();
  copy = replay.library.make_replica(replay.plan, replay.node().replica, *kept.instance);
  return copy.get();
}

TaskResult run_again(const Replay& replay, const TaskInputs& inputs) {
  TaskContext context;
  context.step = replay.id.step;
  context.run_seed = replay.session.parts.seed;
  const StepGraph& graph = replay.session.graph;
  context.version =
      graph.is_update(replay.id.node) ? replay.id.step : graph.version_read(replay.id.node, replay.id.step);
  context.decisions = decisions_of(replay.session.database, replay.row.row);
  TaskResult result;
  replay.executor.run_on(replay.node().group, [&] {
    std::unique_ptr<Node> node = replay.library.make_node(replay.plan, replay.id.node);
    result = node->run(inputs, context);
  });
  return result;
}

std::string first_differing_byte(const std::vector<std::byte>& recorded, const std::vector<std::byte>& now) {
  auto [left, right] = std::mismatch(recorded.begin(), recorded.end(), now.begin(), now.end());
  std::string place = "byte " + std::to_string(left - recorded.begin());
  if (left == recorded.end() || right == now.end()) {
    return place + ": recorded are " + std::to_string(recorded.size()) + " bytes, now " + std::to_string(now.size());
  }
  return place + ": recorded " + std::to_string(std::to_integer<int>(*left)) + ", now " +
         std::to_string(std::to_integer<int>(*right));
}

bool compare_outputs(const Replay& replay, const TaskResult& result) {
  auto recorded = outputs_of(replay.session.database, replay.row.row);
  if (recorded.size() != result.outputs.size()) {
    replay.report.detail =
        "recorded are " + std::to_string(recorded.size()) + " outputs, now " + std::to_string(result.outputs.size());
    return false;
  }
  for (std::size_t port = 0; port < recorded.size(); ++port) {
    VectorSink now;
    result.outputs[port]->write(now);
    Digest digest = sha256(now.bytes);
    const std::string& name = replay.node().outputs[port].name;
    std::string label = "output " + std::to_string(port) + (name.empty() ? "" : " `" + name + "`");
    replay.report.redone.push_back("compared: " + label + " " + hex(digest));
    const bool kept = !collected(replay.session.database, recorded[port].digest);
    if (digest == recorded[port].digest) {
      // Its file is compared too: one that changed since is refused by name.
      if (kept) replay.session.artifacts.get(recorded[port].digest);
      continue;
    }
    replay.report.detail = label + " differs";
    if (kept) {
      replay.report.detail +=
          " at " + first_differing_byte(replay.session.artifacts.get(recorded[port].digest), now.bytes);
    }
    return false;
  }
  return true;
}

bool compare_version(const Replay& replay, const ModelInstance& model) {
  const std::string& name = replay.plan.models[replay.node().model.index()].name;
  auto recorded = find_version(replay.session.database, name, replay.id.step);
  if (!recorded) throw CannotReplay{"version " + std::to_string(replay.id.step) + " is not recorded"};
  WeightsDigest weights = model.weights_digest();
  replay.report.redone.push_back("compared: weights of " + name + " v" + std::to_string(replay.id.step) + " " +
                                 hex(weights));
  if (weights != recorded->weights) {
    replay.report.detail = "weights of `" + name + "` v" + std::to_string(replay.id.step) + " differ: recorded " +
                           hex(recorded->weights) + ", now " + hex(weights);
    return false;
  }
  if (recorded->state && *recorded->state != model.state_digest()) {
    replay.report.detail = "the optimizer's state of `" + name + "` v" + std::to_string(replay.id.step) + " differs";
    return false;
  }
  return true;
}

Verdict answer(const Replay& replay, const std::optional<std::int64_t>& sample) {
  TaskInputs inputs = read_inputs(replay);
  std::unique_ptr<ModelInstance> copy;
  inputs.model = bring_model(replay, copy);
  bool update = replay.session.graph.is_update(replay.id.node);
  // While an update runs its model is of no version.
  KeptModel updated;
  if (update) {
    updated = std::move(replay.kept[replay.node().model]);
    replay.kept.erase(replay.node().model);
  }
  TaskResult result = run_again(replay, inputs);
  if (sample) {
    replay.report.sample =
        replay.library.sample_at(replay.plan, replay.id.node, inputs.payloads, result.outputs, *sample);
    if (!replay.report.sample) throw CannotReplay{"the task has no responses, so no sample can be shown"};
  }
  if (!compare_outputs(replay, result)) return Verdict::differs;
  if (!update) return Verdict::identical;
  if (!compare_version(replay, *updated.instance)) return Verdict::differs;
  updated.version = replay.id.step;
  replay.kept[replay.node().model] = std::move(updated);
  return Verdict::identical;
}

struct Replaying {
  const Plan& plan;
  NodeLibrary& library;
  RecordedSession& session;
  Executor& executor;
  KeptModels kept = {};
};

void replay_named(Replaying& at, const TaskName& task, const std::optional<std::int64_t>& sample,
                  ReplayReport& report) {
  try {
    TaskId id = find_node(at.plan, task);
    if (at.session.graph.is_checkpoint(id.node)) {
      throw CannotReplay{"a checkpoint computes nothing that could be compared"};
    }
    TaskRow row = find_finished(at.session.database, task);
    if (task.step <= at.session.parts.inherited) {
      throw CannotReplay{"`" + to_text(task) + "` was made by run `" + recorded_run(at.session.database).parent +
                         "`, which this one was forked from: replay it there"};
    }
    require_unchanged_files(at.session.parts);
    report.verdict = answer({at.plan, at.library, at.session, at.executor, at.kept, report, id, row}, sample);
  } catch (const CannotReplay& cannot) {
    report.detail = cannot.why;
  } catch (const std::exception& error) {  // an input that is gone, a node that failed this time
    report.detail = error.what();
  }
}

// What a range answers is what its worst task does.
void replay_steps(Replaying& at, Step first, Step last, ReplayReport& report) {
  report.verdict = Verdict::identical;
  for (const TaskRow& row : tasks_after(at.session.database, first - 1)) {
    if (row.task.step > last) break;
    bool checkpoint = row.state == "done" && at.session.graph.is_checkpoint(find_node(at.plan, row.task).node);
    if (row.state != "done" || checkpoint) continue;
    ReplayReport one;
    replay_named(at, row.task, {}, one);
    for (const std::string& line : one.redone) {
      if (line.starts_with("redone: ")) report.redone.push_back(line);
    }
    report.tasks.push_back({to_text(row.task), one.verdict, one.detail});
    bool worse =
        one.verdict == Verdict::differs || (one.verdict == Verdict::cannot && report.verdict == Verdict::identical);
    if (!worse || report.verdict == Verdict::differs) continue;
    report.verdict = one.verdict;
    report.detail = "`" + to_text(row.task) + "`: " + one.detail;
  }
  if (!report.tasks.empty()) return;
  report.verdict = Verdict::cannot;
  report.detail = "no finished task is recorded in steps " + std::to_string(first) + " to " + std::to_string(last);
}

Outcome outcome_of(const ReplayReport& report) {
  switch (report.verdict) {
    case Verdict::identical: return {};
    case Verdict::differs: return {ExitCode::no, "R0401", report.detail, "compare the environments of the two", {}};
    case Verdict::cannot: break;
  }
  return {ExitCode::could_not_answer, "R0402", report.detail, "`rlflow show` lists the tasks of a run", {}};
}

}  // namespace

Outcome replay_task(const Plan& plan, const ReplayRequest& request, NodeLibrary& library, ReplayReport& report,
                    const EngineOptions& options) {
  report = {};
  auto task = task_name_from_text(request.task);
  if (!task && !request.steps) {
    report.detail = "`" + request.task + "` is no task";
    return {ExitCode::could_not_answer, "R0402", report.detail, "write node:step, as `traj:42`", {}};
  }
  PosixFiles disk;
  return caught([&] {
    RecordedSession session(plan, request.run_dir, library, options.files ? *options.files : disk);
    std::unique_ptr<Executor> executor = make_executor(plan, library, options);
    Replaying at{plan, library, session, *executor};
    if (request.steps) {
      replay_steps(at, request.steps->first, request.steps->second, report);
    } else {
      replay_named(at, *task, request.sample, report);
    }
    return outcome_of(report);
  });
}

}  // namespace rlflow
