// How does the program get its engine? It opens librlflow_run.so, which lies beside it.
#pragma once

#include "runtime/contract/run_api.h"

namespace rlflow {

// Opens the library once a process; throws StoreError (exit 2) that says what is missing and how to build it.
// Call before any thread is started: it sets OpenMP's wait policy, which is read when libgomp is loaded.
RunApi& run_api();

// While it lives, the first SIGINT or SIGTERM asks the run to pause, the second ends the process at once.
// One at a time.
class PauseOnSignal {
 public:
  explicit PauseOnSignal(RunApi& api);
  ~PauseOnSignal();
  PauseOnSignal(const PauseOnSignal&) = delete;
  PauseOnSignal& operator=(const PauseOnSignal&) = delete;

  bool signalled() const;
  // 130 or 143 for the signal that came; `outcome` unchanged where none did.
  Outcome with_signal(Outcome outcome) const;
};

}  // namespace rlflow
