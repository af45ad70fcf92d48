// One worker from its start to the end of its last descendant.
#pragma once

#include "nodes/reward/host/options.h"

namespace rlflow::reward_host {

// Starts the worker, watches it until it ends, breaks a limit, or the engine's end of kControlDescriptor says so or
// closes; then kills all that descends from it and reports. Returns the process's exit status.
int supervise(const HostOptions& options);

}  // namespace rlflow::reward_host
