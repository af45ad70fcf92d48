// The node library that the engine runs with: nodes, models and payloads on libtorch.
#pragma once

#include <memory>

#include "runtime/contract/node_library.h"

namespace rlflow {

// Switches libtorch to deterministic algorithms for the whole process.
std::unique_ptr<NodeLibrary> make_run_library();

}  // namespace rlflow
