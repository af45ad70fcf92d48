// What time is it? An argument, so that tests move it by hand.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace rlflow {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now_ms() const = 0;         // monotonic, any origin
  virtual std::int64_t wall_ms() const = 0;  // Unix time, for the record only
  // Waits that long; false: it was asked to stop before.
  virtual bool wait(double milliseconds, const std::stop_token& stop) const = 0;
};

class SystemClock final : public Clock {
 public:
  double now_ms() const override {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  std::int64_t wall_ms() const override {
    auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }
  bool wait(double milliseconds, const std::stop_token& stop) const override {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, std::chrono::duration<double, std::milli>(milliseconds), [] { return false; });
    return !stop.stop_requested();
  }
};

}  // namespace rlflow
