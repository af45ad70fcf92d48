// Tasks on plain threads: one a group, a few for host tasks, and the caller's for the serial part.
#include <algorithm>

#include "runtime/engine/device_groups.h"
#include "runtime/engine/executor.h"

namespace rlflow {
namespace {

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(std::size_t groups, const EnterGroup& enter) : groups_(groups, enter) {
    for (int i = 0; i < kHostThreads; ++i) host_.push_back(std::make_unique<WorkerThread>([] {}));
  }

  void run(TaskSource& source) override {
    start(source, source.next(std::nullopt));
    while (!source.finished()) {
      std::optional<TaskId> ended;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return woken_ || !ended_.empty(); });
        if (ended_.empty()) {
          woken_ = false;
        } else {
          ended = ended_.front();
          ended_.pop_front();
        }
      }
      start(source, source.next(ended));
    }
  }

  void wake() override {
    std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }

  void run_on(GroupId group, const std::function<void()>& work) override { groups_.call(group, work); }

 private:
  static constexpr int kHostThreads = 2;

  void start(TaskSource& source, const std::vector<Launch>& launches) {
    for (const Launch& launch : launches) {
      auto work = [this, &source, task = launch.task] {
        source.execute(task);
        std::lock_guard lock(mutex_);
        ended_.push_back(task);
        changed_.notify_all();
      };
      if (launch.group.valid()) {
        groups_.post(launch.group, work);
      } else {
        host_[next_host_++ % host_.size()]->post(work);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TaskId> ended_;  // guarded by mutex_
  bool woken_ = false;        // guarded by mutex_
  std::size_t next_host_ = 0;
  DeviceGroups groups_;  // after what its threads use
  std::vector<std::unique_ptr<WorkerThread>> host_;
};

// xorshift64*: which task goes first is all that it decides.
class SeededExecutor final : public Executor {
 public:
  SeededExecutor(std::uint64_t seed, EnterGroup enter)
      : state_(seed * 0x9E3779B97F4A7C15u + 1), enter_(std::move(enter)) {}

  void run(TaskSource& source) override {
    std::vector<Launch> started = source.next(std::nullopt);
    while (!source.finished()) {
      if (started.empty()) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return woken_; });
        woken_ = false;
      }
      std::optional<TaskId> ended;
      if (!started.empty()) {
        std::size_t chosen = draw() % started.size();
        Launch launch = started[chosen];
        started.erase(started.begin() + static_cast<std::ptrdiff_t>(chosen));
        if (launch.group.valid()) enter_(launch.group);
        source.execute(launch.task);
        ended = launch.task;
      }
      std::vector<Launch> more = source.next(ended);
      started.insert(started.end(), more.begin(), more.end());
    }
  }

  void wake() override {
    std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }

  void run_on(GroupId group, const std::function<void()>& work) override {
    if (group.valid()) enter_(group);
    work();
  }

 private:
  std::uint64_t draw() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return (state_ * 0x2545F4914F6CDD1Du) >> 33;
  }

  std::uint64_t state_;
  EnterGroup enter_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(std::size_t groups, EnterGroup enter) {
  return std::make_unique<ThreadExecutor>(groups, enter);
}

std::unique_ptr<Executor> make_seeded_executor(std::uint64_t seed, EnterGroup enter) {
  return std::make_unique<SeededExecutor>(seed, std::move(enter));
}

}  // namespace rlflow
