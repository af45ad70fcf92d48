// The node library that the engine runs with: nodes, models and payloads on libtorch.
#pragma once

#include <memory>

#include "runtime/contract/cluster.h"
#include "runtime/contract/node_library.h"

namespace rlflow {

// Switches libtorch to deterministic algorithms for the whole process.
std::unique_ptr<NodeLibrary> make_run_library();

// What this process may compute on: threads, memory, and the GPUs that this build has code for and a driver shows.
Cluster usable_machine();

}  // namespace rlflow
