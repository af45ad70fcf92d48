// Do prompt groups go on before their batch is whole, and does the run come out the same whatever becomes of them?
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "runtime/store/run_reader.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"

namespace rlflow {
namespace {

using testing::fake_plan;
using testing::FakeLibrary;
using testing::node_of;
using testing::PlanShape;
using testing::Recording;
using testing::request_for;
using testing::run_fake;
using testing::run_with;
using testing::ScratchFolder;
using testing::trace_of;

PlanShape streaming() {
  PlanShape shape;
  shape.steps = 4;
  shape.stream = true;
  return shape;
}

class Stream : public ::testing::Test {
 protected:
  Outcome run(bool resume = false, const PauseFlag& pause = {}) {
    EngineOptions options;
    options.threads = EngineOptions::Threads::plain;
    return run_plan(plan_, request_for(dir_, resume), library_, recording_, pause, options);
  }
  // The undisturbed run without early work.
  void expect_same_run() {
    Plan whole_plan = plan_;
    FakeLibrary library;
    Recording recording;
    EngineOptions options;
    options.threads = EngineOptions::Threads::seeded;  // in one thread nothing is early
    ASSERT_EQ(run_with(whole_plan, request_for(whole_), library, recording, options).code, ExitCode::yes);
    for (const std::string& execution : library.executions()) EXPECT_EQ(execution.find('<'), std::string::npos);
    EXPECT_EQ(trace_of(dir_), trace_of(whole_));
  }
  bool executed(const std::string& execution) {
    std::vector<std::string> all = library_.executions();
    return std::find(all.begin(), all.end(), execution) != all.end();
  }

  ScratchFolder folder_{"stream"};
  std::filesystem::path dir_ = std::filesystem::path(folder_.path()) / "run";
  std::filesystem::path whole_ = std::filesystem::path(folder_.path()) / "whole";
  Plan plan_ = fake_plan(streaming());
  FakeLibrary library_;
  Recording recording_;
};

TEST_F(Stream, AGroupIsScoredAndGetsItsAdvantageWhileOthersAreGenerated) {
  library_.before_emit = [this](const TaskContext& context, std::int32_t group) {
    if (group == 0) return;
    std::string earlier = std::to_string(context.step) + "/" + std::to_string(group - 1);
    EXPECT_TRUE(library_.wait_for("adv:" + earlier));
    EXPECT_TRUE(executed("r:" + earlier));
  };
  ASSERT_EQ(run().code, ExitCode::yes);
  for (const char* taken : {"r:1<0", "r:1<1", "adv:1<0", "adv:1<1", "r:4<0", "adv:4<1"}) {
    EXPECT_TRUE(executed(taken)) << taken;
  }
  expect_same_run();
}

// Group 0 of step 2 is still being scored when the batch is whole: the score of the whole waits for it.
TEST_F(Stream, TheWholeWaitsForEarlyWorkOfItsNode) {
  std::promise<void> generated;
  std::shared_future<void> until_generated = generated.get_future().share();
  recording_.then = [&](const RunEvent& event) {
    if (event.type == RunEvent::Type::task_done && event.step == 2 && plan_.nodes[event.node.index()].name == "traj") {
      generated.set_value();
    }
  };
  library_.before = [&](const PlanNode& node, const TaskInputs& inputs, const TaskContext& context) {
    if (node.name == "r" && context.step == 2 && testing::numbers_of(inputs.payloads[0]).size() == 3) {
      until_generated.wait();
    }
  };
  library_.before_emit = [this](const TaskContext& context, std::int32_t group) {
    if (context.step == 2 && group == 1) {
      EXPECT_TRUE(library_.wait_for("r:2/0"));
    }
  };
  ASSERT_EQ(run().code, ExitCode::yes);
  EXPECT_TRUE(executed("r:2<0"));
  expect_same_run();
}

// The rollout fails after one group was emitted and scored; the next attempt, on a device that is not bit-exact,
// emits another one. Nothing of the first may stay.
TEST_F(Stream, WhatAFailedAttemptEmittedIsForgotten) {
  node_of(plan_, "traj").retry = 1;
  library_.before_emit = [this](const TaskContext& context, std::int32_t group) {
    if (context.step != 2 || group != 1 || context.attempt != 1) return;
    EXPECT_TRUE(library_.wait_for("r:2/0"));
    throw std::runtime_error("device lost");
  };
  ASSERT_EQ(run().code, ExitCode::yes);
  std::vector<std::string> all = library_.executions();
  auto first = std::find(all.begin(), all.end(), "r:2/0");
  auto second = std::find(std::next(first), all.end(), "r:2/0");
  bool taken_over = executed("r:2<0");
  EXPECT_TRUE(!taken_over || second != all.end()) << "early work of the attempt that failed was taken over";
  for (const RecordedTask& task : RunReader(dir_).tasks(2)) EXPECT_EQ(task.failures, task.node == "traj" ? 1 : 0);
  library_.before_emit = nullptr;
  expect_same_run();
}

TEST_F(Stream, FailedEarlyWorkIsToldAndDoneWithTheWhole) {
  library_.before = [](const PlanNode& node, const TaskInputs& inputs, const TaskContext& context) {
    bool early = node.name == "r" && testing::numbers_of(inputs.payloads[0]).size() == 3;
    if (early && context.step == 3) throw std::runtime_error("judge is away");
  };
  library_.before_emit = [this](const TaskContext& context, std::int32_t group) {
    if (context.step == 3 && group == 1) {
      EXPECT_TRUE(library_.wait_for("r:3/0"));
    }
  };
  ASSERT_EQ(run().code, ExitCode::yes);
  auto told = std::count_if(recording_.events.begin(), recording_.events.end(), [](const RunEvent& event) {
    return event.type == RunEvent::Type::warning &&
           event.text.find("group 0 beforehand: judge is away") != std::string::npos;
  });
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(executed("r:3<0"));
  EXPECT_FALSE(executed("r:3/1")) << "after a failure the node does no more early work in the step";
  expect_same_run();
}

TEST_F(Stream, APauseWhileTheWholeWaitsLosesNothing) {
  PauseFlag pause;
  recording_.then = [&](const RunEvent& event) {
    if (event.type == RunEvent::Type::task_done && event.step == 2 && plan_.nodes[event.node.index()].name == "traj") {
      pause.request();
      library_.note("paused");
    }
  };
  library_.before = [&](const PlanNode& node, const TaskInputs& inputs, const TaskContext& context) {
    if (node.name == "r" && context.step == 2 && testing::numbers_of(inputs.payloads[0]).size() == 3) {
      EXPECT_TRUE(library_.wait_for("paused"));
    }
  };
  library_.before_emit = [this](const TaskContext& context, std::int32_t group) {
    if (context.step == 2 && group == 1) {
      EXPECT_TRUE(library_.wait_for("r:2/0"));
    }
  };
  ASSERT_EQ(run(false, pause).code, ExitCode::interrupted);
  recording_.then = nullptr;
  library_.before = nullptr;
  library_.before_emit = nullptr;
  ASSERT_EQ(run(true).code, ExitCode::yes);
  expect_same_run();
}

TEST_F(Stream, ExecutorsAndLagsAgree) {
  for (int lag : {0, 1, 2}) {
    PlanShape shape = streaming();
    shape.lag = lag;
    shape.two_groups = lag > 0;
    plan_ = fake_plan(shape);
    std::string name = folder_.path() + "/lag" + std::to_string(lag);
    ASSERT_EQ(run_fake(plan_, name, false, EngineOptions::Threads::seeded).code, ExitCode::yes);
    for (int i = 0; i < 10; ++i) {
      for (auto threads : {EngineOptions::Threads::plain, EngineOptions::Threads::tbb}) {
        if (threads == EngineOptions::Threads::tbb && !testing::kTbbRuns) continue;
        std::string other = name + "-" + std::to_string(i) + (threads == EngineOptions::Threads::tbb ? "t" : "p");
        ASSERT_EQ(run_fake(plan_, other, false, threads).code, ExitCode::yes);
        EXPECT_EQ(trace_of(other), trace_of(name));
      }
    }
  }
}

}  // namespace
}  // namespace rlflow
