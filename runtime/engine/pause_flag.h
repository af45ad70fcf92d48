// Has somebody asked the run to pause, and with which exit code shall it leave?
#pragma once

#include <atomic>

#include "runtime/contract/run_api.h"

namespace rlflow {

// Lock-free, so a signal handler may ask.
class PauseFlag {
 public:
  void request(ExitCode code = ExitCode::interrupted) { code_.store(static_cast<int>(code)); }
  bool requested() const { return code_.load() != 0; }
  ExitCode code() const { return static_cast<ExitCode>(code_.load()); }
  void clear() { code_.store(0); }  // before a run

 private:
  std::atomic<int> code_ = 0;
};
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace rlflow
