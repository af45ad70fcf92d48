// When a run has to wait, for a slow disk, for another try or for a task that stands still: does it say so, keep its
// memory bounded, and come to the same end?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>

#include "runtime/engine/task_runner.h"
#include "runtime/store/run_reader.h"
#include "tests/runtime/recorded_disk.h"
#include "tests/runtime/run_trace.h"
#include "tests/runtime/simulated_clock.h"
#include "tests/support/process.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using testing::fake_plan;
using testing::FakeLibrary;
using ::testing::HasSubstr;
using testing::node_of;
using testing::Recording;
using testing::request_for;
using testing::run_fake;
using testing::run_with;
using testing::trace_of;

class Waiting : public ::testing::Test {
 protected:
  Waiting() {
    options_.threads = EngineOptions::Threads::plain;
    options_.clock = &clock_;
    options_.watchdog.silence_ms = 60'000;
    recording_.then = [this](const RunEvent& event) {
      if (event.type != RunEvent::Type::warning) return;
      std::lock_guard lock(mutex_);
      warnings_.push_back(event.text);
      changed_.notify_all();
    };
  }
  // Lets minutes pass until a warning has that text. Again and again, since whatever still moves is progress.
  void stand_still_until_told(const std::string& text) {
    std::unique_lock lock(mutex_);
    const auto told = [&] {
      for (const std::string& warning : warnings_) {
        if (warning.find(text) != std::string::npos) return true;
      }
      return false;
    };
    for (int look = 0; look < 300; ++look) {
      clock_.advance(60'001);
      if (changed_.wait_for(lock, std::chrono::milliseconds(200), told)) return;
    }
    ADD_FAILURE() << "nobody said: " << text;
  }
  std::vector<std::string> warnings() {
    std::lock_guard lock(mutex_);
    return warnings_;
  }
  Outcome run() { return run_with(plan_, request_for(dir_ / "run"), library_, recording_, options_); }
  void expect_same_run() {
    ASSERT_EQ(run_fake(plan_, dir_ / "whole").code, ExitCode::yes);
    EXPECT_EQ(trace_of(dir_ / "run"), trace_of(dir_ / "whole"));
  }

  testing::ScratchFolder folder_{"waiting"};
  fs::path dir_ = fs::canonical(folder_.path());
  Plan plan_ = fake_plan({});
  FakeLibrary library_;
  Recording recording_;
  testing::SimulatedClock clock_;
  EngineOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> warnings_;  // guarded by mutex_
};

// The disk takes no file until the run has said that it waits for it; meanwhile nothing more is started.
TEST_F(Waiting, ResultsThatWaitForTheDiskHoldTheTasksBack) {
  options_.waiting_bytes = 0;
  testing::RecordedDisk disk(dir_);
  options_.files = &disk.files();
  std::size_t executed = 0;
  bool stood_still = false;
  disk.before = [&](const testing::DiskOp& op) {
    if (op.kind == testing::DiskOp::Kind::create && !stood_still && !library_.executions().empty()) {
      stood_still = true;
      stand_still_until_told("bytes wait for the disk");
      executed = library_.executions().size();
    }
    return testing::Fate::pass;
  };
  ASSERT_EQ(run().code, ExitCode::yes);
  EXPECT_TRUE(stood_still);
  EXPECT_LE(executed, 3u) << "what waits for nothing: acc:0, batch:1, coef:1";
  expect_same_run();
}

// The control: with room for everything the run does not wait for that disk before its window is full.
TEST_F(Waiting, WithRoomNothingIsHeldBack) {
  testing::RecordedDisk disk(dir_);
  options_.files = &disk.files();
  bool waited = false;
  disk.before = [&](const testing::DiskOp& op) {
    if (op.kind == testing::DiskOp::Kind::create && !waited && !library_.executions().empty()) {
      waited = true;
      EXPECT_TRUE(library_.wait_for("step:1"));
    }
    return testing::Fate::pass;
  };
  ASSERT_EQ(run().code, ExitCode::yes);
  EXPECT_TRUE(waited);
  expect_same_run();
}

TEST_F(Waiting, ARunThatStandsStillSaysWhoWaitsForWhom) {
  library_.before = [&](const PlanNode& node, const TaskInputs&, const TaskContext& context) {
    if (node.name == "traj" && context.step == 2) stand_still_until_told("r:2 waits for");
  };
  ASSERT_EQ(run().code, ExitCode::yes);
  std::vector<std::string> told = warnings();
  EXPECT_THAT(told, Contains(HasSubstr("no task has moved for ")));
  EXPECT_THAT(told, Contains(HasSubstr("traj:2 has run for ")));
  EXPECT_THAT(told, Contains("r:2 waits for traj:2"));
  EXPECT_THAT(told, Contains(HasSubstr("step:2 waits for")));
}

TEST_F(Waiting, EachTryWaitsTwiceAsLong) {
  EXPECT_EQ(backoff_ms(1), 100);
  EXPECT_EQ(backoff_ms(2), 200);
  EXPECT_EQ(backoff_ms(9), 25'600);
  EXPECT_EQ(backoff_ms(10), 30'000);
  EXPECT_EQ(backoff_ms(100), 30'000);
  node_of(plan_, "traj").retry = 3;
  std::vector<double> began;
  library_.before = [&](const PlanNode& node, const TaskInputs&, const TaskContext& context) {
    if (node.name != "traj" || context.step != 2) return;
    began.push_back(clock_.now_ms());
    if (began.size() <= 3) throw std::runtime_error("busy");
  };
  ASSERT_EQ(run().code, ExitCode::yes);
  ASSERT_EQ(began.size(), 4u);
  EXPECT_EQ(began[1] - began[0], 100);
  EXPECT_EQ(began[2] - began[1], 200);
  EXPECT_EQ(began[3] - began[2], 400);
  std::vector<std::string> told;
  for (const RunEvent& event : recording_.events) {
    if (event.type == RunEvent::Type::task_failed) told.push_back(event.text);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"busy (trying again in 0.1 s)", "busy (trying again in 0.2 s)",
                                            "busy (trying again in 0.4 s)"}));
  for (const RecordedTask& task : RunReader(dir_ / "run").tasks(2))
    EXPECT_EQ(task.failures, task.node == "traj" ? 3 : 0);
  expect_same_run();
}

// A task that listens is asked to stop when the grace has passed, and the run leaves resumable; one that does not is
// left behind with its process.
TEST_F(Waiting, APauseLeavesWithinItsGraceWhateverATaskDoes) {
  ASSERT_EQ(run_fake(plan_, dir_ / "whole").code, ExitCode::yes);
  for (bool listens : {true, false}) {
    fs::path run_dir = dir_ / (listens ? "listens" : "deaf");
    PauseFlag pause;
    bool asked = false;
    std::atomic<bool> left = false;
    library_.before = [&](const PlanNode& node, const TaskInputs&, const TaskContext& context) {
      if (node.name != "traj" || context.step != 2 || asked) return;
      asked = true;
      pause.request();
      std::mutex mutex;
      std::condition_variable_any changed;
      std::unique_lock lock(mutex);
      // Time passes with every look at it: 8 s until the task is asked, 5 s more until the process goes.
      while (!(listens ? context.stop.stop_requested() : left.load())) {
        clock_.advance(100);
        changed.wait_for(lock, std::chrono::milliseconds(1), [] { return false; });
      }
      if (listens) throw TaskStopped();
    };
    EngineOptions options = options_;
    options.leave_process = [&](ExitCode) { left = true; };
    double began = clock_.now_ms();
    Outcome outcome = run_plan(plan_, request_for(run_dir), library_, recording_, pause, options);
    EXPECT_EQ(outcome.code, ExitCode::interrupted) << outcome.message;
    EXPECT_EQ(left, !listens);
    EXPECT_GE(clock_.now_ms() - began, options.pause_grace_ms);
    EXPECT_EQ(RunReader(run_dir).run().committed, 1);
    library_.before = nullptr;
    ASSERT_EQ(run_fake(plan_, run_dir, true).code, ExitCode::yes);
    EXPECT_EQ(trace_of(run_dir), trace_of(dir_ / "whole"));
  }
}

}  // namespace
}  // namespace rlflow
