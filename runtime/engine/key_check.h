// Does every finished task have the key that its program, inputs and model give it? Needs no torch and runs nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/contract/plan.h"
#include "runtime/engine/step_graph.h"
#include "runtime/store/record_queries.h"

namespace rlflow {

// Digest of the scalar that `prev(…, init=…)` makes, as the node library writes it.
using InitDigest = std::function<Digest(double)>;

// Inputs of a recorded task that `prev(…, init=…)` made, by port: those without a recorded edge.
std::map<std::int32_t, Digest> inits_of(const Plan& plan, TaskId task, const std::vector<Edge>& edges,
                                        const InitDigest& init_digest);

struct KeyReport {
  std::int64_t compared = 0;          // tasks, and versions with their lineage
  std::vector<std::string> problems;  // one line each
};
// Reads the run in that folder, in one snapshot; `plan` is the one compiled from its own program. Keys of tasks and
// lineages of versions form a chain from version 0 on, so a changed edge, read or digest shows.
KeyReport check_keys(const std::filesystem::path& run_dir, const Plan& plan, const InitDigest& init_digest);

}  // namespace rlflow
