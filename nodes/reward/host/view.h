// The file system as a worker in the full sandbox sees it: a new root with little in it.
#pragma once

#include <string>

#include "nodes/reward/host/options.h"

namespace rlflow::reward_host {

// For a process in mount, user, pid and ipc namespaces of its own. Afterwards `/` holds, read-only: the system's
// programs and libraries, what programs need of /etc, `root` and `readable` without `hidden`; its own /proc; devices
// that hold nothing; and an empty /tmp and /dev/shm, in memory, that alone can be written. Returns why not, or "".
std::string enter_view(const HostOptions& options);

}  // namespace rlflow::reward_host
