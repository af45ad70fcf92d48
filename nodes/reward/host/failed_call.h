// A system call that failed, as text for a person.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace rlflow::reward_host {

// "WHAT: No such file or directory", from errno.
inline std::string failed_call(const std::string& what) { return what + ": " + std::strerror(errno); }

}  // namespace rlflow::reward_host
