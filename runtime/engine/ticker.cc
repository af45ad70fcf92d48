// Deadlines, silence and pauses, ten times a second.
#include "runtime/engine/ticker.h"

#include <chrono>
#include <cstdlib>

#include "runtime/engine/seconds_text.h"

namespace rlflow {

Ticker::Ticker(const Parts& parts) : parts_(parts), thread_([this] { loop(); }) {}

Ticker::~Ticker() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Ticker::loop() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(100), [this] { return closing_; })) {
    lock.unlock();
    tick();
    lock.lock();
  }
}

void Ticker::tick() {
  if (parts_.pause.requested() && !pause_seen_ms_) {
    pause_seen_ms_ = parts_.clock.now_ms();
    parts_.executor.wake();
  }
  if (pause_seen_ms_ && !asked_to_stop_ && parts_.clock.now_ms() - *pause_seen_ms_ >= parts_.pause_grace_ms) {
    asked_to_stop_ = true;
    parts_.watchdog.stop_all();
  }
  Watchdog::Findings findings = parts_.watchdog.check();
  for (const std::string& line : findings.passed) {
    parts_.events.warn(line);
    parts_.recorder.event("warning", {}, line);
  }
  if (findings.silent_ms) {
    parts_.events.warn("no task has moved for " + seconds_text(*findings.silent_ms));
  }
  if (findings.silent_ms || !findings.passed.empty()) {
    parts_.loop.explain_soon();
    parts_.executor.wake();
  }
  if (findings.stuck && !left_) leave(*findings.stuck);
}

// The task's thread is inside a library and will not return: what is recorded stands, the process goes.
void Ticker::leave(const std::string& task) {
  left_ = true;
  std::string text = task + " did not stop when asked; the process leaves, resume the run to go on";
  parts_.events.warn(text);
  parts_.recorder.event("warning", {}, text);
  parts_.recorder.flush_quietly();
  ExitCode code = parts_.pause.requested() ? parts_.pause.code() : ExitCode::device_lost;
  if (parts_.leave_process) return parts_.leave_process(code);
  std::_Exit(static_cast<int>(code));
}

}  // namespace rlflow
