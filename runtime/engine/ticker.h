// Who looks at the clock while tasks run? A thread that acts on deadlines, silence and pause requests.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/engine/run_loop.h"

namespace rlflow {

class Ticker {
 public:
  struct Parts {
    Watchdog& watchdog;
    RunLoop& loop;
    Recorder& recorder;
    Executor& executor;
    EventBus& events;
    const PauseFlag& pause;
    const Clock& clock;
    double pause_grace_ms;
    std::function<void(ExitCode)> leave_process;  // by default ends the process at once
  };
  explicit Ticker(const Parts& parts);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void loop();
  void tick();
  void leave(const std::string& task);

  Parts parts_;
  std::optional<double> pause_seen_ms_;  // of the thread
  bool asked_to_stop_ = false;           // of the thread
  bool left_ = false;                    // of the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace rlflow
