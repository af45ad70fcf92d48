// The writer thread.
#include "runtime/engine/commit_queue.h"

#include <utility>

namespace rlflow {
namespace {

constexpr std::int64_t kCommitsBetweenCheckpoints = 250;  // of the log; about 1,000 pages

}  // namespace

CommitQueue::CommitQueue(Database& database, TaskStore& tasks, Mode mode, std::function<void()> on_commit)
    : database_(database), tasks_(tasks), mode_(mode), on_commit_(std::move(on_commit)) {
  if (mode_ == Mode::threaded) thread_ = std::thread([this] { loop(); });
}

CommitQueue::~CommitQueue() {
  if (mode_ == Mode::inline_) return;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CommitQueue::post(Job job) {
  if (mode_ == Mode::inline_) {
    if (!failed()) run_batch({std::move(job)});
    return;
  }
  {
    std::lock_guard lock(mutex_);
    if (failure_) return;
    queue_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void CommitQueue::after_commit(Job told) { told_.push_back(std::move(told)); }

void CommitQueue::loop() {
  for (;;) {
    std::deque<Job> jobs;
    {
      std::unique_lock lock(mutex_);
      writing_ = false;
      changed_.notify_all();
      changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      jobs.swap(queue_);
      writing_ = true;
    }
    run_batch(std::move(jobs));
  }
}

void CommitQueue::run_batch(std::deque<Job> jobs) {
  try {
    {
      Transaction transaction(database_);
      tasks_.require_epoch();
      for (Job& job : jobs) job();
      tasks_.write_started();
      transaction.commit();
    }
    if (++commits_ % kCommitsBetweenCheckpoints == 0) database_.checkpoint_passive();
    for (Job& told : std::exchange(told_, {})) told();
  } catch (...) {
    std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    queue_.clear();
  }
  jobs.clear();  // what they hold in memory goes before those who wait for room are told
  on_commit_();
}

void CommitQueue::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return mode_ == Mode::inline_ || (queue_.empty() && !writing_); });
  if (failure_) std::rethrow_exception(failure_);
}

bool CommitQueue::failed() const {
  std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

}  // namespace rlflow
