// Many replays in one process: the run library opened once, and each run's own copy of its program compiled once.
#pragma once

#include <string>
#include <vector>

#include "runtime/contract/run_api.h"

namespace rlflow::testing {

// The run library of the build under test; stays open.
RunApi& opened_run_api();

// The plan of a recorded run, as `rlflow replay` compiles it. Throws StoreError.
Plan plan_of(const std::string& run_dir);

struct DoneTask {
  std::string name;  // "traj:42"
  std::string op;    // "rollout"
  std::string node;
};
// Every finished task that computes something, in the order of the record.
std::vector<DoneTask> done_tasks(const std::string& run_dir, const Plan& plan);

// Asks for one replay; `detail` gets what the report says.
Verdict replay(const Plan& plan, const std::string& run_dir, const std::string& task, std::string& detail);

}  // namespace rlflow::testing
