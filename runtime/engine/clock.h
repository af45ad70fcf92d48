// What time is it? An argument, so that tests move it by hand.
#pragma once

#include <chrono>
#include <cstdint>

namespace rlflow {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now_ms() const = 0;         // monotonic, any origin
  virtual std::int64_t wall_ms() const = 0;  // Unix time, for the record only
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
};

}  // namespace rlflow
