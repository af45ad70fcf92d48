// seccomp: which system calls a worker may not make, whatever user it is.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace rlflow::reward_host {

struct SyscallRules {
  bool network = false;       // may open sockets of the internet
  bool local_sockets = true;  // may open sockets of this machine
  // Processes, and minus their group, that it may send no signal.
  std::vector<pid_t> protected_processes;
};

// For this process, which must have no_new_privs, and its children, for good. Returns why not, or "".
std::string filter_syscalls(const SyscallRules& rules);

}  // namespace rlflow::reward_host
