// Does a fork go on with the right bits, and leave its parent alone?
#include "runtime/engine/fork.h"

#include <gtest/gtest.h>

#include "runtime/engine/step_graph.h"
#include "runtime/store/collection.h"
#include "runtime/store/fsck.h"
#include "runtime/store/run_reader.h"
#include "tests/runtime/crash_points.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::FakeLibrary;
using testing::PlanShape;
using testing::run_fake;
using testing::trace_of;

class Fork : public ::testing::Test {
 protected:
  static PlanShape shape(Step lag) {
    PlanShape shape;
    shape.steps = 7;
    shape.lag = lag;
    shape.two_groups = lag > 0;
    shape.critic = true;
    shape.evaluate_every = 3;
    return shape;
  }
  Outcome fork(const Plan& plan, Step step, const std::string& name, FileLayer* files = nullptr) {
    FakeLibrary library;
    EngineOptions options;
    options.threads = EngineOptions::Threads::seeded;
    options.files = files;
    return fork_run(plan, plan, {base_ / "whole", step, base_ / name, name, "rlflow fork whole"}, library, options);
  }
  // Goes on under another program: each update of it gives other weights.
  Outcome go_on(const Plan& plan, const std::string& name, std::int64_t drift, Step until) {
    FakeLibrary library;
    library.drift = drift;
    testing::Recording recording;
    Plan part = plan;
    part.stop_after = until;
    EngineOptions options;
    options.threads = EngineOptions::Threads::seeded;
    return testing::run_with(part, testing::request_for(base_ / name, true), library, recording, options);
  }
  std::string replayed(const Plan& plan, const std::string& name, const std::string& task, std::int64_t drift = 0) {
    ReplayReport report;
    FakeLibrary library;
    library.drift = drift;
    EngineOptions options;
    options.threads = EngineOptions::Threads::seeded;
    ReplayRequest request;
    request.run_dir = base_ / name;
    request.task = task;
    replay_task(plan, request, library, report, options);
    return report.verdict == Verdict::identical ? "identical" : report.detail;
  }
  void expect_sound(const std::string& name) {
    PosixFiles files;
    FsckReport report = fsck(files, base_ / name, true);
    for (const std::string& problem : report.problems) ADD_FAILURE() << name << ": " << problem;
    EXPECT_TRUE(report.leftovers.empty());
    EXPECT_TRUE(report.strays.empty());
  }

  testing::ScratchFolder folder_{"fork"};
  fs::path base_ = fs::canonical(folder_.path());
};

TEST_F(Fork, WithoutAChangeGoesOnToTheBitsOfItsParent) {
  for (Step lag : {0, 1, 2}) {
    Plan plan = testing::fake_plan(shape(lag));
    fs::remove_all(base_ / "whole");
    ASSERT_EQ(run_fake(plan, base_ / "whole").code, ExitCode::yes);
    auto whole = trace_of(base_ / "whole");
    for (Step step = 0; step <= 7; ++step) {
      fs::remove_all(base_ / "child");
      Outcome made = fork(plan, step, "child");
      ASSERT_EQ(made.code, ExitCode::yes) << made.message;
      expect_sound("child");
      RecordedRun run = RunReader(base_ / "child").run();
      EXPECT_EQ(run.state, RunState::paused);
      EXPECT_EQ(run.parent, "whole");
      EXPECT_EQ(run.parent_step, step);
      EXPECT_EQ(run.committed, step);
      ASSERT_EQ(run_fake(plan, base_ / "child", true).code, ExitCode::yes);
      EXPECT_EQ(trace_of(base_ / "child"), whole) << "lag " << lag << ", forked after " << step;
      expect_sound("child");
    }
    EXPECT_EQ(trace_of(base_ / "whole"), whole);
  }
}

// The parent's updates would give other weights under the fork's program: they must never be redone by it.
TEST_F(Fork, UnderAnotherProgramRecoversWithoutRedoingItsParent) {
  for (Step lag : {0, 2}) {
    Plan plan = testing::fake_plan(shape(lag));
    fs::remove_all(base_ / "whole");
    ASSERT_EQ(run_fake(plan, base_ / "whole").code, ExitCode::yes);
    for (const char* name : {"straight", "broken"}) {
      fs::remove_all(base_ / name);
      ASSERT_EQ(fork(plan, 4, name).code, ExitCode::yes);
    }
    ASSERT_EQ(go_on(plan, "straight", 5, 7).code, ExitCode::yes);
    for (Step until = 5; until <= 7; ++until) {
      Outcome outcome = go_on(plan, "broken", 5, until);
      ASSERT_EQ(outcome.code, ExitCode::yes) << outcome.message;
    }
    auto broken = trace_of(base_ / "broken");
    for (const auto& [name, value] : trace_of(base_ / "straight")) EXPECT_EQ(broken[name], value) << name;
    EXPECT_NE(broken["policy v5"], trace_of(base_ / "whole")["policy v5"]);
    EXPECT_EQ(broken["policy v4"], trace_of(base_ / "whole")["policy v4"]);
    EXPECT_EQ(replayed(plan, "broken", "step:6", 5), "identical");
    EXPECT_NE(replayed(plan, "broken", "step:3", 5).find("was made by run `whole`"), std::string::npos);
    expect_sound("broken");
  }
}

TEST_F(Fork, NothingOfItsParentIsLostWithItsParentOrByItsOwnGarbageCollection) {
  Plan plan = testing::fake_plan(shape(2));
  ASSERT_EQ(run_fake(plan, base_ / "whole").code, ExitCode::yes);
  auto whole = trace_of(base_ / "whole");
  ASSERT_EQ(fork(plan, 4, "child").code, ExitCode::yes);
  fs::remove_all(base_ / "whole");
  expect_sound("child");
  PosixFiles files;
  StepGraph graph(plan);
  Retention retention{1, 0, {{"policy", graph.oldest_version_read(ModelId(0), 5)}, {"critic", 4}}};
  collect_garbage(files, base_ / "child", retention, 5, false);
  ASSERT_EQ(run_fake(plan, base_ / "child", true).code, ExitCode::yes);
  EXPECT_EQ(trace_of(base_ / "child"), whole);
  expect_sound("child");
}

TEST_F(Fork, OfAStepThatIsNotCommittedIsRefusedAndLeavesNothing) {
  Plan plan = testing::fake_plan(shape(0));
  ASSERT_EQ(run_fake(plan, base_ / "whole").code, ExitCode::yes);
  EXPECT_EQ(fork(plan, 8, "child").code_id, "R0218");
  EXPECT_EQ(fork(plan, 3, "whole").code_id, "R0202");
  std::vector<fs::path> entries(fs::directory_iterator(base_), {});
  EXPECT_EQ(entries, (std::vector<fs::path>{base_ / "whole"}));
}

TEST_F(Fork, AKillAtAnyPointLeavesAWholeForkOrNone) {
  Plan plan = testing::fake_plan(shape(1));
  ASSERT_EQ(run_fake(plan, base_ / "whole").code, ExitCode::yes);
  testing::Work work = [&](FileLayer& files) { return fork(plan, 4, "child", &files); };
  std::vector<std::string> points = testing::points_of(base_, work);
  auto whole = trace_of(base_ / "child");
  const std::size_t stride = testing::long_size() ? 1 : 5;
  std::int64_t tried = 0;
  for (std::size_t number = 1; number <= points.size(); number += stride, ++tried) {
    fs::remove_all(base_ / "child");
    ASSERT_TRUE(testing::die_at(base_, work, static_cast<std::int64_t>(number)));
    if (!fs::exists(base_ / "child")) {
      ASSERT_EQ(fork(plan, 4, "child").code, ExitCode::yes) << points[number - 1];
    }
    EXPECT_EQ(trace_of(base_ / "child"), whole) << points[number - 1];
    expect_sound("child");
    EXPECT_EQ(std::distance(fs::directory_iterator(base_), fs::directory_iterator()), 2) << points[number - 1];
  }
  std::printf("kill during fork: %lld of %zu points tried\n", static_cast<long long>(tried), points.size());
  EXPECT_GT(points.size(), 200u);
}

}  // namespace
}  // namespace rlflow
