// `lag <= L`: does a rollout read a version of its window, is that recorded, and does everything later obey it?
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/store/run_reader.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"

namespace rlflow {
namespace {

using testing::fake_plan;
using testing::FakeLibrary;
using testing::PlanShape;
using testing::Recording;
using testing::request_for;
using testing::run_fake;
using testing::run_with;
using testing::ScratchFolder;

constexpr Step kSteps = 12;
constexpr std::int64_t kLag = 2;

Plan plan_with(Step steps, std::int64_t every = 1) {
  PlanShape shape;
  shape.steps = steps;
  shape.lag = kLag;
  shape.sync_every = every;
  shape.two_groups = true;
  Plan plan = fake_plan(shape);
  for (PlanReplica& replica : plan.replicas) replica.lag_at_most = true;
  return plan;
}

std::vector<Version> versions_of(const std::filesystem::path& dir, Step steps) {
  RunReader reader(dir);
  std::vector<Version> versions;
  for (Step step = 1; step <= steps; ++step) versions.push_back(reader.history("traj", step, 0).value().version);
  return versions;
}

void expect_in_window(const std::vector<Version>& versions, std::int64_t every) {
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const Step step = static_cast<Step>(i) + 1;
    const Version oldest = std::max<Version>(0, step - 1 - kLag) / every * every;
    EXPECT_GE(versions[i], oldest) << "step " << step;
    EXPECT_LE(versions[i], step - 1) << "step " << step;
    EXPECT_EQ(versions[i] % every, 0) << "step " << step;
  }
}

void expect_everything_replays(const Plan& plan, const std::filesystem::path& dir) {
  FakeLibrary library;
  ReplayRequest request;
  request.run_dir = dir;
  request.steps = {1, plan.stop_after};
  ReplayReport report;
  const Outcome outcome = replay_task(plan, request, library, report, {});
  EXPECT_EQ(outcome.code, ExitCode::yes) << outcome.message;
  EXPECT_EQ(report.verdict, Verdict::identical) << report.detail;
}

TEST(VersionChoice, ARolloutReadsAVersionOfItsWindow) {
  ScratchFolder folder("choice");
  std::set<std::int64_t> lags;
  for (std::int64_t every : {1, 2}) {
    const Plan plan = plan_with(kSteps, every);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const auto dir = std::filesystem::path(folder.path()) / (std::to_string(every) + "-" + std::to_string(seed));
      ASSERT_EQ(run_fake(plan, dir, false, EngineOptions::Threads::seeded, seed).code, ExitCode::yes);
      const std::vector<Version> versions = versions_of(dir, kSteps);
      expect_in_window(versions, every);
      for (std::size_t i = 4; i < versions.size(); ++i) lags.insert(static_cast<std::int64_t>(i) - versions[i]);
      expect_everything_replays(plan, dir);
    }
  }
  EXPECT_TRUE(lags.contains(0)) << "the newest version was never taken";
  EXPECT_GT(lags.size(), 1u) << "the order of tasks made no difference: nothing was chosen";
}

// Nothing is left to choose: the replica is the model itself, or a copy of the one version that the window has.
TEST(VersionChoice, AWindowOfOneVersionIsThatVersion) {
  ScratchFolder folder("none");
  for (bool copy : {false, true}) {
    PlanShape shape;
    shape.two_groups = copy;
    Plan plan = fake_plan(shape);
    for (PlanReplica& replica : plan.replicas) replica.lag_at_most = true;
    const auto dir = std::filesystem::path(folder.path()) / (copy ? "copy" : "in place");
    ASSERT_EQ(run_fake(plan, dir).code, ExitCode::yes);
    EXPECT_EQ(versions_of(dir, shape.steps), (std::vector<Version>{0, 1, 2, 3, 4, 5}));
    expect_everything_replays(plan, dir);
  }
}

TEST(VersionChoice, AResumeKeepsWhatWasChosen) {
  ScratchFolder folder("resume");
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const auto dir = std::filesystem::path(folder.path()) / std::to_string(seed);
    const Plan plan = plan_with(kSteps);
    const pid_t child = fork();
    if (child == 0) {
      FakeLibrary library;
      library.before = [&](const PlanNode& node, const TaskInputs&, const TaskContext& context) {
        if (node.name == "adv" && context.step == 5 + static_cast<Step>(seed % 3)) _exit(9);
      };
      Recording recording;
      EngineOptions options;
      options.threads = EngineOptions::Threads::seeded;
      options.seed = seed;
      run_with(plan, request_for(dir), library, recording, options);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    std::map<Step, Version> before;
    for (Step step = 1; step <= kSteps; ++step) {
      const std::optional<TaskHistory> history = RunReader(dir).history("traj", step, 0);
      if (history && history->task.state == "done") before[step] = history->version;
    }
    ASSERT_GE(before.size(), 4u);
    ASSERT_EQ(run_fake(plan, dir, true, EngineOptions::Threads::seeded, seed + 1).code, ExitCode::yes);
    const std::vector<Version> versions = versions_of(dir, kSteps);
    expect_in_window(versions, 1);
    for (const auto& [step, version] : before) EXPECT_EQ(versions[static_cast<std::size_t>(step - 1)], version) << step;
    expect_everything_replays(plan, dir);
  }
}

}  // namespace
}  // namespace rlflow
