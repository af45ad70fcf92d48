// The threads of the device groups.
#include "runtime/engine/device_groups.h"

#include <exception>

namespace rlflow {

WorkerThread::WorkerThread(std::function<void()> enter) : enter_(std::move(enter)), thread_([this] { loop(); }) {}

WorkerThread::~WorkerThread() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WorkerThread::loop() {
  enter_();
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

void WorkerThread::post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void WorkerThread::call(const std::function<void()>& work) {
  std::exception_ptr failure;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  post([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    std::lock_guard lock(mutex);
    done = true;
    ended.notify_all();
  });
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return done; });
  if (failure) std::rethrow_exception(failure);
}

DeviceGroups::DeviceGroups(std::size_t groups, const EnterGroup& enter) {
  for (std::size_t i = 0; i < groups; ++i) {
    threads_.push_back(std::make_unique<WorkerThread>([enter, i] { enter(GroupId(i)); }));
  }
}

void DeviceGroups::call(GroupId group, const std::function<void()>& work) {
  if (!group.valid()) return work();
  threads_[group.index()]->call(work);
}

}  // namespace rlflow
