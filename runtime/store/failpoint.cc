// What the test build does at a named point; in other builds this file is empty.
#include "runtime/store/failpoint.h"

#ifdef RLFLOW_FAILPOINTS
namespace rlflow {

FailpointControl& failpoint_control() {
  static FailpointControl control;
  return control;
}

void failpoint(const char* name) {
  if (failpoint_control().reached) failpoint_control().reached(name);
}

bool is_off(Safeguard safeguard) { return failpoint_control().off && failpoint_control().off(safeguard); }

}  // namespace rlflow
#endif
