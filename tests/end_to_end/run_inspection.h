// What a run left on disk, read with plain SQL: an oracle that shares no code with the store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/process.h"

namespace rlflow::testing {

// The program under test with its arguments, in the source folder; OpenMP waits passively so that tests
// that share a machine do not spin.
ProcessResult rlflow(const std::vector<std::string>& arguments, ProcessOptions options = {});

// A small version of pipelines/tiny_grpo.rlflow: 8 prompts x 4 samples; extra arguments follow.
std::vector<std::string> small_grpo(const std::string& runs_dir, const std::string& name, int steps,
                                    const std::vector<std::string>& extra = {});

using Rows = std::vector<std::vector<std::string>>;
// Every row of a query as text; a failed query fails the test, naming SQLite's message.
Rows query(const std::string& run_dir, const std::string& sql);

// version -> weights digest (hex), for one model.
std::map<std::int64_t, std::string> weights_by_version(const std::string& run_dir, const std::string& model);

// "node:step:slot" -> digests of its outputs by port, for every finished task.
std::map<std::string, std::string> outputs_by_task(const std::string& run_dir);

// All that two runs of one program must have in common, by name: "task traj:3:0", "version policy 3", "metric …",
// "step 3". Of times alone there is nothing.
using RunFacts = std::map<std::string, std::string>;
RunFacts facts_of(const std::string& run_dir);
// Empty if they are equal.
std::string first_difference(const RunFacts& found, const RunFacts& expected);

// The first problem that fsck --deep finds; empty if the run is sound and nothing is left over.
std::string damage_of(const std::string& run_dir);

// A stored metric; fails the test when there is none.
double metric(const std::string& run_dir, std::int64_t step, const std::string& node, const std::string& name);

}  // namespace rlflow::testing
