// rlflow-reward-host: keeps one reward program in its sandbox. Started by the engine, one process a worker.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "nodes/reward/host/supervise.h"

int main(int count, char** words) {
  try {
    const rlflow::reward_host::HostOptions options = rlflow::reward_host::from_arguments({words + 1, words + count});
    // Whatever else the engine had open is not for a worker.
    syscall(SYS_close_range, rlflow::reward_host::kRepliesDescriptor + 1, ~0u, 0);
    return rlflow::reward_host::supervise(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rlflow-reward-host: %s\n", error.what());
    return 2;
  }
}
