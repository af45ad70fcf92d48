// On which thread does a task run? One interface: oneTBB, plain threads, or one thread in a seeded order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/contract/plan.h"
#include "runtime/engine/step_graph.h"

namespace rlflow {

struct Launch {
  TaskId task;
  GroupId group;  // invalid: a host task
};

// What an executor drives.
class TaskSource {
 public:
  virtual ~TaskSource() = default;
  // Called serially: at the start and after a wake (nullopt), and with each task that `execute` ended.
  // Returns what to start now.
  virtual std::vector<Launch> next(std::optional<TaskId> ended) = 0;
  // Called on the group's thread, one at a time for a group, or on any thread for a host task. Throws nothing.
  virtual void execute(TaskId task) = 0;
  // Asked after `next`: nothing is running and nothing will be.
  virtual bool finished() const = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;
  // Drives the source until it is finished. Called once at a time.
  virtual void run(TaskSource& source) = 0;
  // Makes `next(nullopt)` be called soon. Any thread, at any time.
  virtual void wake() = 0;
  // Runs `work` on the group's thread (the calling one for an invalid group), waits for it, rethrows what it throws.
  // Not during `run`.
  virtual void run_on(GroupId group, const std::function<void()>& work) = 0;
};

// Called first on each group's own thread.
using EnterGroup = std::function<void(GroupId)>;

std::unique_ptr<Executor> make_tbb_executor(std::size_t groups, EnterGroup enter);
std::unique_ptr<Executor> make_thread_executor(std::size_t groups, EnterGroup enter);
// Runs everything on the calling thread; `seed` chooses which of the started tasks runs first.
std::unique_ptr<Executor> make_seeded_executor(std::uint64_t seed, EnterGroup enter);

}  // namespace rlflow
