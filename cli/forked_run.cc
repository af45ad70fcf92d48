// Two programs and a step for the engine's fork.
#include "cli/forked_run.h"

#include <chrono>
#include <map>

#include "cli/recorded_program.h"
#include "cli/run_folders.h"
#include "cli/run_library/load.h"

namespace rlflow {

Outcome make_fork(const NewFork& fork, const Session& session, MadeFork& made) {
  RecordedRun parent = RunReader(fork.parent_dir).run();
  RunApi& api = run_api();
  Cluster cluster = api.cluster();
  Compilation own = recorded_compilation(parent, {}, &cluster);
  Compilation changed = recorded_compilation(parent, fork.overrides, &cluster, fork.with);
  made.parent = parent.name;
  made.step = fork.step.value_or(parent.committed);
  made.changes = program_differences(own, changed);
  auto now = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  made.name = fork.name.empty() ? new_run_name(changed.plan->flow, fork.runs, now) : fork.name;
  made.run_dir = fork.runs / made.name;
  ForkRequest request{fork.parent_dir, made.step, made.run_dir, made.name, session.command};
  return api.fork(*own.plan, *changed.plan, request);
}

Step newest_checkpoint_step(const std::filesystem::path& run_dir) {
  RunReader reader(run_dir);
  std::map<std::string, Version> heads;
  std::map<Version, std::size_t> checkpoints;
  for (const RecordedVersion& version : reader.versions("")) heads[version.model] = version.version;
  std::erase_if(heads, [](const auto& head) { return head.second == 0; });  // never trained
  for (const RecordedVersion& version : reader.versions("")) {
    if (version.checkpoint && heads.contains(version.model)) ++checkpoints[version.version];
  }
  Step newest = 0;
  Step committed = reader.run().committed;
  for (const auto& [version, models] : checkpoints) {
    if (models == heads.size() && version <= committed) newest = version;
  }
  return newest;
}

}  // namespace rlflow
