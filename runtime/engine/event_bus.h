// How do events of many threads reach one observer? One call at a time.
#pragma once

#include <mutex>
#include <string>

#include "runtime/contract/run_api.h"

namespace rlflow {

class EventBus {
 public:
  explicit EventBus(RunObserver& observer) : observer_(observer) {}

  void emit(const RunEvent& event) {
    std::lock_guard lock(mutex_);
    observer_.on_event(event);
  }
  void warn(const std::string& text) {
    RunEvent event;
    event.type = RunEvent::Type::warning;
    event.text = text;
    emit(event);
  }

 private:
  std::mutex mutex_;
  RunObserver& observer_;  // called under mutex_
};

}  // namespace rlflow
