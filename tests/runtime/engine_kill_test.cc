// Does a run that is killed at any moment, and resumed, give what an uninterrupted one gives?
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runtime/store/run_reader.h"
#include "tests/runtime/crash_points.h"
#include "tests/runtime/disk_image.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::Draw;
using testing::fake_plan;
using testing::FakeLibrary;
using testing::PlanShape;
using testing::Recording;
using testing::request_for;
using testing::run_fake;
using testing::run_with;
using testing::ScratchFolder;
using testing::trace_of;

struct Blow {
  int executions = 0;  // nodes that have begun by then; 0: it falls while the store is opened and recovered
  std::chrono::microseconds delay{0};
};

void die_after(std::chrono::microseconds delay) {
  std::thread([delay] {
    std::this_thread::sleep_for(delay);
    kill(getpid(), SIGKILL);
  }).detach();
}

// Runs or resumes in a child process, which dies by SIGKILL when the blow falls. Returns the child's exit code, -1 if
// it was killed.
int run_and_kill(const Plan& plan, const std::filesystem::path& run_dir, bool resume, Blow blow) {
  pid_t child = fork();
  if (child == 0) {
    FakeLibrary library;
    Recording recording;
    std::atomic<int> begun = 0;
    library.before = [&](const PlanNode&, const TaskInputs&, const TaskContext&) {
      if (++begun == blow.executions) die_after(blow.delay);
    };
    if (blow.executions == 0) die_after(blow.delay);
    EngineOptions options;
    options.threads = EngineOptions::Threads::plain;
    Outcome outcome = run_with(plan, request_for(run_dir, resume), library, recording, options);
    if (outcome.code != ExitCode::yes) std::fprintf(stderr, "%s\n", outcome.message.c_str());
    _exit(static_cast<int>(outcome.code));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Kills {
  int at_work = 0;
  int at_start = 0;  // while the store was opened and recovered, or soon after
};

// Kills the run again and again until it ends by itself.
void run_to_the_end(const Plan& plan, const std::filesystem::path& run_dir, std::uint64_t seed, Kills& kills) {
  Draw draw{seed};
  for (int blows = 0;; ++blows) {
    bool resume = fs::exists(run_dir / "state.db");
    bool at_start = draw.below(3) == 0;
    Blow blow;
    blow.executions = blows >= 16 ? 1000000 : at_start ? 0 : 1 + draw.below(14);
    blow.delay = std::chrono::microseconds(draw.below(at_start ? 8000 : 4000));
    int code = run_and_kill(plan, run_dir, resume, blow);
    if (code >= 0) {
      EXPECT_EQ(code, 0) << "after " << blows << " kills";
      return;
    }
    ++(at_start ? kills.at_start : kills.at_work);
  }
}

TEST(Kill, AnywhereAndResumedGivesTheSameRun) {
  ScratchFolder folder("kill");
  std::filesystem::path base = folder.path();
  Kills kills;
  int failures = 0;
  const int rounds = testing::long_size() ? 240 : 24;
  for (int round = 0; round < rounds; ++round) {
    const int variant = round % 6;
    PlanShape shape;
    shape.steps = 7;
    shape.lag = variant % 3;
    shape.two_groups = variant % 3 != 0;
    shape.critic = variant >= 3;
    shape.update_from = variant == 4 ? 3 : 1;
    Plan plan = fake_plan(shape);
    std::string name = "v" + std::to_string(round);
    ASSERT_EQ(run_fake(plan, base / (name + "whole")).code, ExitCode::yes);
    run_to_the_end(plan, base / name, 1000 + static_cast<std::uint64_t>(round), kills);
    std::string wrong = testing::wrong_at_end(base / name, trace_of(base / (name + "whole")));
    failures += wrong.empty() ? 0 : 1;
    EXPECT_EQ(wrong, "") << "round " << round;
    fs::remove_all(base / name);
    fs::remove_all(base / (name + "whole"));
  }
  std::printf("fake engine: %d kills at work, %d during start and recovery, %d runs ended, %d failures\n",
              kills.at_work, kills.at_start, rounds, failures);
  EXPECT_GE(kills.at_work, testing::long_size() ? 500 : 40);
  EXPECT_GE(kills.at_start, testing::long_size() ? 200 : 20);
}

// An attempt that a kill cut off is lost, not failed.
TEST(Kill, AttemptsOfTheKilledAreLost) {
  ScratchFolder folder("lost");
  std::filesystem::path dir = std::filesystem::path(folder.path()) / "a";
  Plan plan = fake_plan({});
  FakeLibrary library;
  Recording recording;
  pid_t child = fork();
  if (child == 0) {
    // The first rollout waits until its attempt is durable, as one that takes long would, and dies.
    library.before = [&](const PlanNode& node, const TaskInputs&, const TaskContext&) {
      if (node.name != "traj") return;
      for (;;) {
        RunReader reader(dir);
        std::vector<RecordedTask> tasks = reader.tasks(1);
        bool recorded = std::any_of(tasks.begin(), tasks.end(),
                                    [](const RecordedTask& task) { return task.node == "traj" && task.attempts == 1; });
        if (recorded) kill(getpid(), SIGKILL);
      }
    };
    run_with(plan, request_for(dir), library, recording, {});
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(RunReader(dir).run().state, RunState::interrupted);
  ASSERT_EQ(run_fake(plan, dir, true).code, ExitCode::yes);
  RunReader reader(dir);
  EXPECT_EQ(reader.run().epoch, 2);
  for (const RecordedTask& task : reader.tasks(1)) {
    EXPECT_EQ(task.failures, 0);
    if (task.node == "traj") {
      EXPECT_EQ(task.attempts, 2);
    }
  }
}

}  // namespace
}  // namespace rlflow
