// Replay of one task: stored inputs, the model brought back, run again, compared bit by bit.
#include <algorithm>

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

struct Replay {
  const Plan& plan;
  NodeLibrary& library;
  RecordedSession& session;
  Executor& executor;
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

// The model as the task found it; a replica's copy where it read one.
std::unique_ptr<ModelInstance> bring_model(const Replay& replay) {
  if (!replay.node().model.valid()) return nullptr;
  Version version = replay.session.graph.version_read(replay.id.node, replay.id.step);
  auto model = recorded_model(replay.session, replay.executor, replay.node().model, version, replay.report.redone);
  if (!replay.session.graph.reads_copy(replay.id.node)) return model;
  const PlanReplica& replica = replay.plan.replicas[replay.node().replica.index()];
  return model->copy_for_replica(dtype_name(replica.dtype));
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
    if (digest == recorded[port].digest) continue;
    replay.report.detail = label + " differs";
    if (!collected(replay.session.database, recorded[port].digest)) {
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

Verdict answer(const Replay& replay) {
  require_unchanged_files(replay.session.parts);
  TaskInputs inputs = read_inputs(replay);
  std::unique_ptr<ModelInstance> model = bring_model(replay);
  inputs.model = model.get();
  TaskResult result = run_again(replay, inputs);
  bool same = compare_outputs(replay, result);
  if (same && replay.session.graph.is_update(replay.id.node)) same = compare_version(replay, *model);
  return same ? Verdict::identical : Verdict::differs;
}

Outcome replay_named(const Plan& plan, const TaskName& task, RecordedSession& session, NodeLibrary& library,
                     ReplayReport& report, const EngineOptions& options) {
  try {
    TaskId id = find_node(plan, task);
    if (session.graph.is_checkpoint(id.node))
      throw CannotReplay{"a checkpoint computes nothing that could be compared"};
    TaskRow row = find_finished(session.database, task);
    if (task.step <= session.parts.inherited) {
      throw CannotReplay{"`" + to_text(task) + "` was made by run `" + recorded_run(session.database).parent +
                         "`, which this one was forked from: replay it there"};
    }
    std::unique_ptr<Executor> executor = make_executor(plan, library, options);
    report.verdict = answer({plan, library, session, *executor, report, id, row});
  } catch (const CannotReplay& cannot) {
    report.detail = cannot.why;
  } catch (const std::exception& error) {  // an input that is gone, a node that failed this time
    report.detail = error.what();
  }
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
  if (!task) {
    report.detail = "`" + request.task + "` is no task";
    return {ExitCode::could_not_answer, "R0402", report.detail, "write node:step, as `traj:42`", {}};
  }
  PosixFiles disk;
  return caught([&] {
    RecordedSession session(plan, request.run_dir, library, options.files ? *options.files : disk);
    return replay_named(plan, *task, session, library, report, options);
  });
}

}  // namespace rlflow
