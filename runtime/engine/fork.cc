// Forks of recorded runs.
#include "runtime/engine/fork.h"

#include <algorithm>
#include <set>

#include "runtime/engine/make_executor.h"
#include "runtime/engine/model_restore.h"
#include "runtime/engine/needed_versions.h"
#include "runtime/engine/outcomes.h"
#include "runtime/engine/recorded_choices.h"
#include "runtime/engine/source_files.h"
#include "runtime/engine/task_key.h"
#include "runtime/store/bundle_rows.h"
#include "runtime/store/failpoint.h"
#include "runtime/store/fork_rows.h"
#include "runtime/store/fsck.h"
#include "runtime/store/record_queries.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/schema.h"

namespace rlflow {
namespace {

struct Forking {
  const Plan& parent_plan;
  const Plan& plan;
  const ForkRequest& request;
  NodeLibrary& library;
  const EngineOptions& options;
  FileLayer& files;
  std::filesystem::path staged;
};

std::set<std::string> trained_models(const Plan& plan) {
  StepGraph graph(plan);
  std::set<std::string> names;
  for (ModelId model : graph.versioned_models()) names.insert(plan.models[model.index()].name);
  return names;
}

bool same_weights_at_first(const PlanModel& a, const PlanModel& b) {
  const auto lora = [](const PlanModel& model) { return lora_of(model) ? to_text(Value(*lora_of(model))) : ""; };
  return a.random_init == b.random_init && a.path == b.path && a.init_seed == b.init_seed && a.head == b.head &&
         a.dtype == b.dtype && lora(a) == lora(b);
}

// A model that the parent has not trained has no version to begin with. One that is never trained may come and go, but
// not become another under the same name: its recorded version 0 is what tasks of the parent have read.
void require_same_models(const Forking& fork) {
  if (trained_models(fork.parent_plan) != trained_models(fork.plan)) {
    throw StoreError(ExitCode::no, "R0218", "the program trains other models than the run it is to go on with",
                     "start a new run");
  }
  for (const PlanModel& model : fork.plan.models) {
    for (const PlanModel& before : fork.parent_plan.models) {
      if (before.name != model.name || same_weights_at_first(before, model)) continue;
      throw StoreError(ExitCode::no, "R0218",
                       "model `" + model.name + "` has other weights than in the run it is to go on with",
                       "give it another name, or start a new run");
    }
  }
}

ForkedRun forked_run(const Forking& fork, const std::string& parent) {
  ForkedRun run;
  run.name = fork.request.name;
  run.flow = fork.plan.flow;
  run.command = fork.request.command;
  run.meaning = fork.plan.meaning;
  run.root = fork.plan.root;
  run.total = fork.plan.stop_after;
  run.created_ms = fork.options.clock ? fork.options.clock->wall_ms() : SystemClock().wall_ms();
  run.parent = parent;
  run.parent_step = fork.request.step;
  run.sources = fork.plan.sources;
  run.overrides = fork.plan.overrides;
  run.files = hash_source_files(fork.plan, fork.library);
  return run;
}

void share_artifacts(const ArtifactStore& from, ArtifactStore& to, Database& database) {
  std::vector<Digest> live;
  Statement rows = database.prepare("SELECT digest FROM artifacts WHERE state='live' ORDER BY digest");
  while (rows.step()) live.push_back(rows.digest_at(0));
  for (const Digest& digest : live) to.share(from, digest);
  failpoint("fork: artifacts shared");
  to.sync_shared();
}

// Everything of one version that a checkpoint holds.
struct Saved {
  std::vector<Artifact> parts;
  std::vector<Member> members;
  std::vector<Checkpointed> versions;
};

void save(const std::string& name, Version version, const ModelInstance& model, ArtifactStore& artifacts,
          Saved& saved) {
  for (const std::string& part : model.parts()) {
    saved.parts.push_back(artifacts.put(part, [&](ByteSink& sink) { model.save(part, sink); }));
    saved.members.push_back({name + "/" + part, saved.parts.back().digest});
  }
  saved.versions.push_back({name, version, model.state_digest()});
}

bool all_checkpointed(Database& database, const std::string& model, Version first, Version last) {
  for (Version version = std::max<Version>(first, 1); version <= last; ++version) {
    if (newest_checkpoint(database, model, version) != version) return false;
  }
  return true;
}

// Versions first … last of each model, restored as the parent would.
std::map<Version, Saved> restore_versions(const Forking& fork, const RecordedParts& parts, ArtifactStore& artifacts) {
  std::map<Version, Saved> saved;
  StepGraph new_graph(fork.plan);
  std::unique_ptr<Executor> executor;
  for (std::size_t i = 0; i < fork.plan.models.size(); ++i) {
    const std::string& name = fork.plan.models[i].name;
    Version head = head_of(parts.database, name).value_or(0);
    Version first =
        oldest_to_restore(fork.plan, new_graph, ModelId(i), head, fork.request.step, [](TaskId) { return false; });
    if (all_checkpointed(parts.database, name, first, head)) continue;
    if (!executor) executor = make_executor(fork.parent_plan, fork.library, fork.options);
    ModelId model(i);
    for (std::size_t j = 0; j < fork.parent_plan.models.size(); ++j) {
      if (fork.parent_plan.models[j].name == name) model = ModelId(j);
    }
    executor->run_on(fork.parent_plan.models[model.index()].group, [&] {
      std::unique_ptr<ModelInstance> instance = fork.library.make_model(fork.parent_plan, model, {parts.seed});
      Version from = newest_checkpoint(parts.database, name, first);
      restore_model(parts, model, *instance, from, head, [&](Version version, const WeightsDigest&) {
        if (version > 0 && version >= first) save(name, version, *instance, artifacts, saved[version]);
      });
    });
  }
  return saved;
}

void add_checkpoints(Database& database, ArtifactStore& artifacts, std::map<Version, Saved> saved) {
  TaskStore tasks(database, database.number("SELECT epoch FROM run"));
  for (auto& [version, state] : saved) {
    std::sort(state.members.begin(), state.members.end(),
              [](const Member& a, const Member& b) { return a.name < b.name; });
    std::string text = manifest_text("checkpoint", state.members);
    Artifact artifact = artifacts.put("manifest", [&](ByteSink& sink) { sink.write(std::as_bytes(std::span(text))); });
    Transaction transaction(database);
    tasks.add_checkpoint({artifact, state.members}, state.parts, state.versions);
    transaction.commit();
  }
}

// Version 0 of the models that the program adds; they are not trained.
void add_new_models(const Forking& fork, std::uint64_t seed, Database& database, ArtifactStore& artifacts) {
  std::vector<InitialVersion> added;
  std::unique_ptr<Executor> executor;
  for (std::size_t i = 0; i < fork.plan.models.size(); ++i) {
    const PlanModel& model = fork.plan.models[i];
    if (head_of(database, model.name)) continue;
    if (!executor) executor = make_executor(fork.plan, fork.library, fork.options);
    executor->run_on(model.group, [&] {
      const WeightsDigest weights = fork.library.make_model(fork.plan, ModelId(i), {seed})->weights_digest();
      added.push_back({model.name, weights, first_lineage(model, weights)});
    });
  }
  if (added.empty()) return;
  std::string text = origin_manifest(hash_source_files(fork.plan, fork.library));
  Artifact origin = artifacts.put("manifest", [&](ByteSink& sink) { sink.write(std::as_bytes(std::span(text))); });
  Transaction transaction(database);
  TaskStore(database, database.number("SELECT epoch FROM run")).add_first_versions(origin, added);
  transaction.commit();
}

void fill(const Forking& fork) {
  {
    Database parent(fork.request.parent_dir / kDatabaseName, Database::Mode::read);
    check_schema(parent);
    parent.copy_into(fork.staged / kDatabaseName);
  }
  Database database(fork.staged / kDatabaseName, Database::Mode::write);
  require_sound(database);
  require_whole_run(database);
  RecordedRun parent = recorded_run(database);
  Step inherited = inherited_step(database);
  ArtifactStore shared(fork.files, fork.request.parent_dir);
  ArtifactStore artifacts(fork.files, fork.staged);
  StepGraph parent_graph(fork.parent_plan);
  choose_as_recorded(database, fork.parent_plan, parent_graph);
  RecordedParts parts{fork.parent_plan, parent_graph, parent.seed, database, shared, fork.library, inherited};
  require_unchanged_files(parts);
  become_fork(database, forked_run(fork, parent.name));
  failpoint("fork: rows cut");
  share_artifacts(shared, artifacts, database);
  add_checkpoints(database, artifacts, restore_versions(fork, parts, artifacts));
  add_new_models(fork, parent.seed, database, artifacts);
  copy_program(fork.files, fork.staged, fork.plan.sources);
  failpoint("fork: checkpoints written");
  database.checkpoint_truncate();
}

Outcome fork_into(Forking fork) {
  require_run(fork.files, fork.request.parent_dir);
  require_same_models(fork);
  make_run_directory(fork.files, fork.request.run_dir, [&](const std::filesystem::path& staged) {
    fork.staged = staged;
    fill(fork);
  });
  return {};
}

}  // namespace

Outcome fork_run(const Plan& parent_plan, const Plan& plan, const ForkRequest& request, NodeLibrary& library,
                 const EngineOptions& options) {
  PosixFiles disk;
  return caught([&] {
    return fork_into({parent_plan, plan, request, library, options, options.files ? *options.files : disk, {}});
  });
}

}  // namespace rlflow
