// How do facts become durable without the tasks waiting? One writer thread, jobs in order, many to a transaction.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/store/task_store.h"

namespace rlflow {

// Jobs run in the order they were posted, inside a transaction of this epoch that ends when the queue is empty. The
// first failure (write, commit, constraint) is final: later jobs are dropped, `flush` rethrows it.
class CommitQueue {
 public:
  enum class Mode { threaded, inline_ };  // inline_: `post` runs the job itself, in a transaction of its own
  // `on_commit` is called after each commit and after the failure, on the writer thread.
  CommitQueue(Database& database, TaskStore& tasks, Mode mode, std::function<void()> on_commit);
  ~CommitQueue();  // what was posted is committed first
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  using Job = std::function<void()>;
  void post(Job job);           // any thread
  void after_commit(Job told);  // from within a job: called once the job is durable, before later jobs
  void flush();                 // waits until all that was posted is durable; rethrows the failure
  bool failed() const;

 private:
  void loop();
  void run_batch(std::deque<Job> jobs);

  Database& database_;
  TaskStore& tasks_;
  const Mode mode_;
  std::function<void()> on_commit_;
  std::vector<Job> told_;     // of the writer thread
  std::int64_t commits_ = 0;  // of the writer thread
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> queue_;       // guarded by mutex_
  bool writing_ = false;        // guarded by mutex_
  bool closing_ = false;        // guarded by mutex_
  std::exception_ptr failure_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace rlflow
