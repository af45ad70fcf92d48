// Who is late? Knows every running task and its deadline; asks the late to stop, reports those that do not.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/engine/clock.h"

namespace rlflow {

struct WatchdogLimits {
  double grace_ms = 5000;      // from the request to stop until the process must leave
  double silence_ms = 120000;  // no progress of any task: say who waits for whom
};

// Thread-safe. Nothing happens by itself: somebody calls `check` now and then.
class Watchdog {
 public:
  Watchdog(const Clock& clock, WatchdogLimits limits) : clock_(clock), limits_(limits), progress_ms_(clock.now_ms()) {}

  using Ticket = std::uint64_t;
  Ticket begin(const std::string& task, std::int64_t timeout_ms, std::stop_source stop);  // timeout 0: none
  // Whether its deadline had passed.
  bool end(Ticket ticket);
  void progressed();
  // Asks every running task to stop now: the run pauses and its time is up.
  void stop_all();

  struct Findings {
    std::vector<std::string> passed;   // deadlines that passed since the last check, one line each
    std::optional<std::string> stuck;  // a task that did not stop within the grace
    std::optional<double> silent_ms;   // no progress for that long; told once until something moves
  };
  Findings check();
  // One line for each task that runs: "traj:3 has run for 130 s".
  std::vector<std::string> running();

 private:
  struct Watched {
    std::string task;
    double began_ms = 0;
    std::optional<double> deadline_ms;
    std::optional<double> asked_ms;  // to stop
    bool late = false;
    std::stop_source stop;
  };
  const Clock& clock_;
  const WatchdogLimits limits_;
  std::mutex mutex_;
  std::map<Ticket, Watched> tasks_;  // guarded by mutex_
  Ticket next_ = 1;                  // guarded by mutex_
  double progress_ms_;               // guarded by mutex_
  bool silence_told_ = false;        // guarded by mutex_
};

}  // namespace rlflow
