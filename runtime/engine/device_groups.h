// Who runs the tasks of a device group? A thread of its own, so that no other worker waits for a device.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/engine/executor.h"

namespace rlflow {

// One thread that runs what is posted, in order.
class WorkerThread {
 public:
  explicit WorkerThread(std::function<void()> enter);
  ~WorkerThread();  // runs what was posted, then ends
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  void post(std::function<void()> work);         // `work` throws nothing
  void call(const std::function<void()>& work);  // waits; rethrows

 private:
  void loop();

  std::function<void()> enter_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  bool closing_ = false;                     // guarded by mutex_
  std::thread thread_;
};

class DeviceGroups {
 public:
  DeviceGroups(std::size_t groups, const EnterGroup& enter);
  void post(GroupId group, std::function<void()> work) { threads_[group.index()]->post(std::move(work)); }
  void call(GroupId group, const std::function<void()>& work);  // an invalid group: on the calling thread
  std::size_t size() const { return threads_.size(); }

 private:
  std::vector<std::unique_ptr<WorkerThread>> threads_;
};

}  // namespace rlflow
