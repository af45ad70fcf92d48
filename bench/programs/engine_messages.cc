// What does a message cost in the executor, beside a oneTBB flow graph of the same form written by hand? And how much
// does a run take beyond the work of its nodes?
//
// messages: WIDTH chains of tasks without work; each goes from the serial node that decides to a node that executes,
// and back. overhead: a whole run with its store, whose update works for 100 ms a step. Prints one JSON line.
#include <oneapi/tbb/flow_graph.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine/executor.h"
#include "runtime/engine/schedule.h"
#include "tests/runtime/run_trace.h"

namespace {

using namespace rlflow;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// WIDTH chains of `messages` tasks in all.
class Chains final : public TaskSource {
 public:
  Chains(std::int64_t messages, int width) : left_(messages), width_(width) {}
  std::vector<Launch> next(std::optional<TaskId> ended) override {
    std::vector<Launch> launches;
    if (ended) --running_;
    for (int i = ended ? width_ - 1 : 0; i < width_ && left_ > 0; ++i, --left_, ++running_) {
      launches.push_back({{NodeId(0), left_}, {}});
    }
    return launches;
  }
  void execute(TaskId) override {}
  bool finished() const override { return left_ == 0 && running_ == 0; }

 private:
  std::int64_t left_;
  std::int64_t running_ = 0;
  int width_;
};

double executor_seconds(std::int64_t messages, int width) {
  std::unique_ptr<Executor> executor = make_tbb_executor(0, [](GroupId) {});
  Chains chains(messages, width);
  const double began = now();
  executor->run(chains);
  return now() - began;
}

double raw_seconds(std::int64_t messages, int width) {
  namespace flow = tbb::flow;
  flow::graph graph;
  std::int64_t left = messages;
  flow::function_node<TaskId, TaskId> work(graph, flow::unlimited, [](const TaskId& task) { return task; });
  flow::function_node<TaskId, flow::continue_msg> decide(graph, flow::serial, [&](const TaskId&) {
    if (left > 0) work.try_put({NodeId(0), left--});
    return flow::continue_msg();
  });
  flow::make_edge(work, decide);
  const double began = now();
  for (int i = 0; i < width && left > 0; ++i) work.try_put({NodeId(0), left--});
  graph.wait_for_all();
  return now() - began;
}

// Seconds that the state machine takes for one task of a flow of eight nodes.
double schedule_seconds(Step steps) {
  testing::PlanShape shape;
  shape.steps = steps;
  const Plan plan = testing::fake_plan(shape);
  const StepGraph graph(plan);
  Schedule schedule(plan, graph, -1);
  std::int64_t tasks = 0;
  const double began = now();
  while (!schedule.all_finished()) {
    while (schedule.admit(schedule.next_step() - 1)) {
    }
    for (TaskId task : schedule.take_ready()) {
      schedule.finish(task);
      ++tasks;
    }
    schedule.take_finished_steps();
  }
  return (now() - began) / static_cast<double>(tasks);
}

// Milliseconds of each step after the first ones, whose update works for `work_ms` on `threads` threads.
std::vector<double> step_milliseconds(const std::string& run_dir, Step steps, double work_ms, int threads) {
  testing::PlanShape shape;
  shape.steps = steps;
  shape.evaluate_every = 1 << 20;
  shape.checkpoint_every = 0;
  const Plan plan = testing::fake_plan(shape);
  testing::FakeLibrary library;
  library.before = [&](const PlanNode& node, const TaskInputs&, const TaskContext&) {
    if (node.name != "step") return;
    const auto spin = [until = now() + work_ms / 1000] {
      while (now() < until) {
      }
    };
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(spin);
    spin();
  };
  testing::Recording recording;
  EngineOptions options;
  const Outcome outcome = testing::run_with(plan, testing::request_for(run_dir), library, recording, options);
  if (outcome.code != ExitCode::yes) {
    std::fprintf(stderr, "%s\n", outcome.message.c_str());
    std::exit(1);
  }
  std::vector<double> milliseconds;
  for (const RunEvent& event : recording.events) {
    if (event.type == RunEvent::Type::step_committed && event.step > 3 && event.step < steps) {
      milliseconds.push_back(event.milliseconds);
    }
  }
  return milliseconds;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: engine_messages messages COUNT WIDTH | overhead RUN_DIR STEPS THREADS\n");
    return 2;
  }
  const std::string what = arguments[1];
  if (what == "messages" && count == 4) {
    const std::int64_t messages = std::atoll(arguments[2]);
    const int width = std::atoi(arguments[3]);
    executor_seconds(messages / 10, width);
    const double ours = executor_seconds(messages, width), raw = raw_seconds(messages, width);
    std::printf("{\"executor_ns\": %g, \"raw_ns\": %g, \"schedule_ns\": %g}\n",
                1e9 * ours / static_cast<double>(messages), 1e9 * raw / static_cast<double>(messages),
                1e9 * schedule_seconds(5000));
    return 0;
  }
  if (what == "overhead" && count == 5) {
    const double work_ms = 100;
    const double step =
        median(step_milliseconds(arguments[2], std::atoll(arguments[3]), work_ms, std::atoi(arguments[4])));
    std::printf("{\"step_ms\": %g, \"work_ms\": %g}\n", step, work_ms);
    return 0;
  }
  std::fprintf(stderr, "engine_messages does not know %s\n", what.c_str());
  return 2;
}
