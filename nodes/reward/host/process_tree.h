// The processes that descend from one, and what they use.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rlflow::reward_host {

// Living descendants of `root`, itself not included; at most `limit`, then no more are looked for.
std::vector<pid_t> descendants(pid_t root, std::size_t limit);

// Bytes of anonymous memory of the processes, and of what the largest of them shares.
std::uint64_t memory_of(const std::vector<pid_t>& processes);

// Kills every descendant of this process, which must be a subreaper, until none is left. False: some were left after
// two seconds of trying.
bool kill_descendants();

}  // namespace rlflow::reward_host
