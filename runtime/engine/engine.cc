// A run from its first row to its last, on one screen each: begin or resume, recover, go, leave.
#include "runtime/engine/engine.h"

#include <algorithm>

#include "runtime/engine/make_executor.h"
#include "runtime/engine/outcomes.h"
#include "runtime/engine/recorded_choices.h"
#include "runtime/engine/recovery.h"
#include "runtime/engine/run_birth.h"
#include "runtime/engine/run_loop.h"
#include "runtime/engine/ticker.h"
#include "runtime/store/collection.h"
#include "runtime/store/failpoint.h"
#include "runtime/store/fsck.h"
#include "runtime/store/leftovers.h"
#include "runtime/store/record_queries.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/writable_run.h"

namespace rlflow {
namespace {

// What lives from the lock to the last commit of one process's part of a run.
struct Session {
  const Plan& plan;
  const RunRequest& request;
  NodeLibrary& library;
  const PauseFlag& pause;
  const EngineOptions& options;
  const Clock& clock;
  FileLayer& files;
  EventBus& events;
  StepGraph graph;
};

void say_opened(const Session& session, Step committed) {
  RunEvent event;
  event.type = RunEvent::Type::opened;
  event.text = session.request.run_dir.string();
  event.step = committed;
  event.total = session.plan.stop_after;
  session.events.emit(event);
}

// Checks a resumed run before anything is written: its state, its files, its program.
std::optional<Outcome> refuse_resume(const Session& session, const RecordedRun& run) {
  if (run.state == RunState::failed) {
    return Outcome{ExitCode::no,
                   "R0213",
                   "run `" + run.name + "` failed for good: " + run.stop_reason,
                   "fix the cause and start another run",
                   {}};
  }
  if (run.meaning != session.plan.meaning) {
    return Outcome{ExitCode::no,
                   "R0212",
                   "the program is not the one that run `" + run.name + "` began with",
                   "resume without changed settings, or start another run",
                   {}};
  }
  if (run.state == RunState::done && run.committed >= session.plan.stop_after) {
    return Outcome{ExitCode::yes,
                   {},
                   "run `" + run.name + "` is finished already, at step " + std::to_string(run.committed),
                   "give a later `stop` to go on",
                   {}};
  }
  return std::nullopt;
}

void warn_of_environment(const Session& session, const RecordedRun& run,
                         const std::map<std::string, std::string>& now) {
  for (const auto& [name, value] : now) {
    auto before = run.environment.find(name);
    if (before != run.environment.end() && before->second != value) {
      session.events.warn("environment: " + name + " was `" + before->second + "` and is `" + value +
                          "` now; results may differ");
    }
  }
}

// The last word of a run: checkpoint of every clean model at its head, state, reason.
void leave(const Session& session, const RunLoop& loop, const ModelStates& models, Recorder& recorder,
           Database& database) {
  recorder.flush();
  CheckpointRequest last;
  bool wanted = false;
  for (ModelId model : session.graph.versioned_models()) {
    if (!models.clean(model)) continue;
    Version version = models.version(model);
    last.step = std::max(last.step, version);
    last.models.push_back({model, version, &models.live(model)});
    const std::string& name = session.plan.models[model.index()].name;
    wanted = wanted || newest_checkpoint(database, name, version) != version;
  }
  if (wanted) recorder.checkpoint(std::move(last));
  if (loop.failure()) {
    recorder.event("failure", {}, loop.failure()->message);
    recorder.set_state(loop.failure()->code == ExitCode::no ? "failed" : "stopped", loop.failure()->message);
  } else {
    recorder.set_state(loop.completed() ? "done" : "paused", "");
  }
  recorder.flush();
  database.checkpoint_truncate();
}

Outcome outcome_of(const Session& session, const RunLoop& loop, Step durable) {
  if (loop.failure()) return *loop.failure();
  RunEvent event;
  event.step = durable;
  event.total = session.plan.stop_after;
  event.type = loop.completed() ? RunEvent::Type::finished : RunEvent::Type::paused;
  session.events.emit(event);
  if (loop.completed()) return {};
  return {session.pause.code(), {}, "paused after step " + std::to_string(durable), "resume the run to go on", {}};
}

Outcome go(Session& session, Executor& executor, ModelStates& models, Database& database, TaskStore& tasks,
           ArtifactStore& artifacts, Recovered recovered) {
  const Plan& plan = session.plan;
  std::vector<std::unique_ptr<Node>> nodes;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    bool runs = !session.graph.is_checkpoint(NodeId(i));
    nodes.push_back(runs ? session.library.make_node(plan, NodeId(i)) : nullptr);
  }
  std::uint64_t seed = recorded_run(database).seed;
  bool seeded = session.options.threads == EngineOptions::Threads::seeded;
  Recorder recorder({plan, session.graph, seed, database, tasks, artifacts, session.events, session.clock},
                    seeded ? CommitQueue::Mode::inline_ : CommitQueue::Mode::threaded, recovered.committed,
                    [&executor] { executor.wake(); });
  Watchdog watchdog(session.clock, session.options.watchdog);
  Step committed = recovered.committed;
  RunLoop loop({plan, session.graph, seed, session.library, nodes, models, recorder, watchdog, session.clock,
                session.events, session.pause, executor, session.options.waiting_bytes},
               committed, std::move(recovered.values), std::move(recovered.stored));
  {
    Ticker ticker({watchdog, loop, recorder, executor, session.events, session.pause, session.clock,
                   session.options.pause_grace_ms, session.options.leave_process});
    executor.run(loop);
  }
  leave(session, loop, models, recorder, database);
  return outcome_of(session, loop, std::max<Step>(recorder.durable_step(), 0));
}

Outcome begin(Session& session) {
  session.library.prepare(session.plan, session.request.run_dir);
  std::unique_ptr<Executor> executor = make_executor(session.plan, session.library, session.options);
  // Models first: a missing or damaged file is told before anything is written.
  ModelStates models(session.plan, session.graph, session.request.seed, session.library, *executor);
  create_run(session.files, session.plan, session.request, session.library, models, session.clock.wall_ms());
  WritableRun opened(session.files, session.request.run_dir);
  Database& database = opened.database();
  TaskStore tasks(database, 1);
  ArtifactStore artifacts(session.files, session.request.run_dir);
  say_opened(session, 0);
  return go(session, *executor, models, database, tasks, artifacts, {});
}

Outcome resume(Session& session) {
  const std::filesystem::path& run_dir = session.request.run_dir;
  WritableRun opened(session.files, run_dir);
  Database& database = opened.database();
  RecordedRun run = recorded_run(database);
  if (auto refused = refuse_resume(session, run)) return *refused;
  session.library.prepare(session.plan, run_dir);
  ArtifactStore artifacts(session.files, run_dir);
  RecordedParts parts{session.plan,    session.graph,           run.seed, database, artifacts,
                      session.library, inherited_step(database)};
  require_unchanged_files(parts);
  for (const MissingFile& file : check_files(database, artifacts, false)) session.events.warn(file.problem);
  std::map<std::string, std::string> environment = session.library.environment();
  warn_of_environment(session, run, environment);
  TaskStore tasks(database,
                  TaskStore::begin_epoch(database, environment, session.plan.stop_after, session.plan.overrides));
  failpoint("recovery: epoch begun");
  finish_removals(database, tasks, artifacts);
  clear_leftovers(session.files, database, artifacts, run_dir);
  failpoint("recovery: cleared");
  say_opened(session, run.committed);
  choose_as_recorded(database, session.plan, session.graph);
  Recovered recovered = recover_tasks(parts, tasks, session.events);
  failpoint("recovery: tasks");
  std::unique_ptr<Executor> executor = make_executor(session.plan, session.library, session.options);
  ModelStates models(session.plan, session.graph, run.seed, session.library, *executor);
  recover_models(parts, recovered, models, *executor, session.events);
  failpoint("recovery: models");
  return go(session, *executor, models, database, tasks, artifacts, std::move(recovered));
}

}  // namespace

Outcome run_plan(const Plan& plan, const RunRequest& request, NodeLibrary& library, RunObserver& observer,
                 const PauseFlag& pause, const EngineOptions& options) {
  if (auto refused = refuse_plan(plan)) return *refused;
  SystemClock system_clock;
  PosixFiles disk;
  EventBus events(observer);
  Session session{plan,
                  request,
                  library,
                  pause,
                  options,
                  options.clock ? *options.clock : system_clock,
                  options.files ? *options.files : disk,
                  events,
                  StepGraph(plan)};
  return caught([&] { return request.resume ? resume(session) : begin(session); });
}

}  // namespace rlflow
