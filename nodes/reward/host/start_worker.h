// How a worker is started in the strongest sandbox that was asked for and is possible.
#pragma once

#include <sys/types.h>

#include <string>

#include "nodes/reward/host/worker_process.h"

namespace rlflow::reward_host {

struct StartedWorker {
  pid_t child = -1;  // the worker; in the full sandbox the first process of its namespace, whose end ends all in it
  int status = -1;   // full: read end of the worker's wait status, an int
  SandboxTier tier = SandboxTier::full;
  std::string weaker;   // as WorkerReport has it
  std::string refused;  // not empty: nothing was started
};

// `out` and `err` get what it prints; `scratch` is the folder that a basic worker may write.
StartedWorker start_worker(const HostOptions& options, int out, int err, const std::string& scratch);

}  // namespace rlflow::reward_host
