// Deadlines and silence.
#include "runtime/engine/watchdog.h"

#include <cmath>

#include "runtime/engine/seconds_text.h"

namespace rlflow {

Watchdog::Ticket Watchdog::begin(const std::string& task, std::int64_t timeout_ms, std::stop_source stop) {
  std::lock_guard lock(mutex_);
  Watched watched;
  watched.task = task;
  watched.began_ms = clock_.now_ms();
  if (timeout_ms > 0) watched.deadline_ms = watched.began_ms + static_cast<double>(timeout_ms);
  watched.stop = std::move(stop);
  progress_ms_ = watched.began_ms;
  silence_told_ = false;
  tasks_[next_] = std::move(watched);
  return next_++;
}

bool Watchdog::end(Ticket ticket) {
  std::lock_guard lock(mutex_);
  auto found = tasks_.find(ticket);
  double now = clock_.now_ms();
  bool late = found->second.deadline_ms && now >= *found->second.deadline_ms;
  tasks_.erase(found);
  progress_ms_ = now;
  silence_told_ = false;
  return late;
}

void Watchdog::progressed() {
  std::lock_guard lock(mutex_);
  progress_ms_ = clock_.now_ms();
  silence_told_ = false;
}

void Watchdog::stop_all() {
  std::lock_guard lock(mutex_);
  for (auto& [ticket, task] : tasks_) {
    task.stop.request_stop();
    if (!task.asked_ms) task.asked_ms = clock_.now_ms();
  }
}

Watchdog::Findings Watchdog::check() {
  std::lock_guard lock(mutex_);
  Findings findings;
  double now = clock_.now_ms();
  for (auto& [ticket, task] : tasks_) {
    if (task.deadline_ms && now >= *task.deadline_ms && !task.late) {
      task.late = true;
      task.asked_ms = now;
      task.stop.request_stop();
      findings.passed.push_back(task.task + " has run for " + std::to_string(std::llround(now - task.began_ms)) +
                                " ms, longer than its timeout");
    }
    if (task.asked_ms && now - *task.asked_ms >= limits_.grace_ms) findings.stuck = task.task;
  }
  if (!silence_told_ && now - progress_ms_ >= limits_.silence_ms) {
    silence_told_ = true;
    findings.silent_ms = now - progress_ms_;
  }
  return findings;
}

std::vector<std::string> Watchdog::running() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  double now = clock_.now_ms();
  for (const auto& [ticket, task] : tasks_) {
    lines.push_back(task.task + " has run for " + seconds_text(now - task.began_ms));
  }
  return lines;
}

}  // namespace rlflow
