// Where can a test stop the store? Named points, and safeguards it can take away: in the test build alone.
#pragma once

#ifdef RLFLOW_FAILPOINTS
#include <functional>
#endif

namespace rlflow {

// A safeguard of the protocol that a test can do without, to see that its absence is noticed.
enum class Safeguard { full_sync, epoch_check };

#ifdef RLFLOW_FAILPOINTS
void failpoint(const char* name);  // calls the test's handler, which may end the process or throw
bool is_off(Safeguard safeguard);  // false unless a test took it away
struct FailpointControl {          // of the whole process; set before the store is used
  std::function<void(const char* name)> reached;
  std::function<bool(Safeguard)> off;
};
FailpointControl& failpoint_control();
#else
constexpr void failpoint(const char*) {}
constexpr bool is_off(Safeguard) { return false; }
#endif

}  // namespace rlflow
