// A clock that stands still but for the waits: nobody sleeps.
#pragma once

#include <atomic>

#include "runtime/engine/clock.h"

namespace rlflow::testing {

class SimulatedClock final : public Clock {
 public:
  double now_ms() const override { return now_ms_; }
  std::int64_t wall_ms() const override { return static_cast<std::int64_t>(now_ms_); }
  bool wait(double milliseconds, const std::stop_token& stop) const override {
    now_ms_ += milliseconds;
    return !stop.stop_requested();
  }
  void advance(double milliseconds) { now_ms_ += milliseconds; }

 private:
  mutable std::atomic<double> now_ms_ = 0;
};

}  // namespace rlflow::testing
