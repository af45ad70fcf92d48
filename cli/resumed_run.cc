// Compile what was recorded, and hand it to the engine.
#include "cli/resumed_run.h"

#include "cli/recorded_program.h"
#include "cli/run_library/load.h"

namespace rlflow {

ExitCode resumed_run(const std::filesystem::path& run_dir, const std::vector<std::string>& overrides,
                     const WatchOptions& watch, const Session& session) {
  RunRequest request;
  request.run_dir = run_dir;
  request.resume = true;
  request.command = session.command;
  RecordedRun recorded = RunReader(run_dir).run();
  request.name = recorded.name;
  request.seed = recorded.seed;
  RunApi& api = run_api();
  Cluster cluster = api.cluster();
  Plan plan = recorded_plan(recorded, overrides, &cluster);
  return watched_run(api, plan, request, watch, session);
}

}  // namespace rlflow
