// The child that becomes the reward program: descriptors, limits, rights, then exec.
#pragma once

#include <sys/types.h>

#include <vector>

#include "nodes/reward/host/options.h"
#include "nodes/reward/worker_report.h"

namespace rlflow::reward_host {

struct WorkerPipes {
  int out = -1;  // write ends of what it prints
  int err = -1;
  int setup = -1;  // close-on-exec: why it did not become the program; end without bytes once it has
};

struct WorkerPlace {
  SandboxTier tier = SandboxTier::full;
  std::string scratch;                     // the folder that it may write; /tmp in the full sandbox
  std::vector<pid_t> protected_processes;  // that get no signal of it
};

// Writes "S" and why the sandbox cannot be, or "C" and why the command cannot be started, to `pipes.setup`.
[[noreturn]] void become_worker(const HostOptions& options, const WorkerPipes& pipes, const WorkerPlace& place);
[[noreturn]] void fail_setup(int setup, char kind, const std::string& why);

}  // namespace rlflow::reward_host
