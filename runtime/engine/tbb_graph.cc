// Tasks on a oneTBB flow graph: an async_node a group, whose own thread does the work; a serial node decides what
// starts next; host tasks run in the arena. Bodies call the task source and do no more.
#include <oneapi/tbb/flow_graph.h>

#include "runtime/engine/device_groups.h"
#include "runtime/engine/executor.h"

namespace rlflow {
namespace {

namespace flow = tbb::flow;

using Ended = std::optional<TaskId>;  // nullopt: a wake
using GroupNode = flow::async_node<TaskId, Ended>;

// The graph of one `run`. Between the first message and the last a reservation keeps wait_for_all waiting, since a
// step may be waiting for the disk alone.
class TaskGraph {
 public:
  TaskGraph(TaskSource& source, DeviceGroups& groups)
      : source_(source),
        decide_(graph_, flow::serial, [this](const Ended& ended) { return on_ended(ended); }),
        host_(graph_, flow::unlimited, [this](const TaskId& task) -> Ended {
          source_.execute(task);
          return task;
        }) {
    flow::make_edge(host_, decide_);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      auto body = [this, &groups, group = GroupId(i)](const TaskId& task, GroupNode::gateway_type& gateway) {
        gateway.reserve_wait();
        groups.post(group, [this, task, &gateway] {
          source_.execute(task);
          gateway.try_put(task);
          gateway.release_wait();
        });
      };
      groups_.push_back(std::make_unique<GroupNode>(graph_, flow::unlimited, body));
      flow::make_edge(*groups_.back(), decide_);
    }
  }

  void run() {
    graph_.reserve_wait();
    decide_.try_put(std::nullopt);
    graph_.wait_for_all();
  }
  void wake() { decide_.try_put(std::nullopt); }
  void drain() { graph_.wait_for_all(); }  // late wakes

 private:
  flow::continue_msg on_ended(const Ended& ended) {
    if (released_) return {};  // a wake that came late
    for (const Launch& launch : source_.next(ended)) {
      if (launch.group.valid()) {
        groups_[launch.group.index()]->try_put(launch.task);
      } else {
        host_.try_put(launch.task);
      }
    }
    if (source_.finished()) {
      released_ = true;
      graph_.release_wait();
    }
    return {};
  }

  TaskSource& source_;
  flow::graph graph_;
  flow::function_node<Ended, flow::continue_msg> decide_;
  flow::function_node<TaskId, Ended> host_;
  std::vector<std::unique_ptr<GroupNode>> groups_;
  bool released_ = false;  // of the serial node
};

class TbbExecutor final : public Executor {
 public:
  TbbExecutor(std::size_t groups, const EnterGroup& enter) : groups_(groups, enter) {}

  void run(TaskSource& source) override {
    TaskGraph graph(source, groups_);
    {
      std::lock_guard lock(mutex_);
      graph_ = &graph;
    }
    graph.run();
    {
      std::lock_guard lock(mutex_);
      graph_ = nullptr;
    }
    graph.drain();
  }

  void wake() override {
    std::lock_guard lock(mutex_);
    if (graph_) graph_->wake();
  }

  void run_on(GroupId group, const std::function<void()>& work) override { groups_.call(group, work); }

 private:
  std::mutex mutex_;
  TaskGraph* graph_ = nullptr;  // guarded by mutex_; the one that runs
  DeviceGroups groups_;
};

}  // namespace

std::unique_ptr<Executor> make_tbb_executor(std::size_t groups, EnterGroup enter) {
  return std::make_unique<TbbExecutor>(groups, enter);
}

}  // namespace rlflow
