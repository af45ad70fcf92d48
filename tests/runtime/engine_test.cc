// Does a run give the same results whatever the order of its tasks, and record them all?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/store/run_reader.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"

namespace rlflow {
namespace {

using testing::fake_plan;
using testing::FakeLibrary;
using ::testing::HasSubstr;
using testing::node_of;
using testing::PlanShape;
using testing::Recording;
using testing::request_for;
using testing::run_fake;
using testing::run_with;
using testing::ScratchFolder;
using testing::trace_of;

std::filesystem::path run_dir(const ScratchFolder& folder, const std::string& name) {
  return std::filesystem::path(folder.path()) / name;
}

std::string describe(const Outcome& outcome) {
  return outcome.code_id + " " + outcome.message + " (" + outcome.help + ")";
}

TEST(Engine, RecordsEveryTaskOfEveryStep) {
  ScratchFolder folder("engine");
  Plan plan = fake_plan({});
  Outcome outcome = run_fake(plan, run_dir(folder, "a"));
  ASSERT_EQ(outcome.code, ExitCode::yes) << describe(outcome);
  RunReader reader(run_dir(folder, "a"));
  RecordedRun run = reader.run();
  EXPECT_EQ(run.state, RunState::done);
  EXPECT_EQ(run.committed, 6);
  EXPECT_EQ(run.total, 6);
  EXPECT_EQ(run.seed, 5u);
  EXPECT_EQ(run.sources[0].text, "rlflow 1\n");
  EXPECT_EQ(run.overrides, std::vector<std::string>{"steps=6"});
  EXPECT_EQ(run.environment.at("library"), "fake 1");
  // Eight nodes a step; evaluate at 0, 2, 4, 6; checkpoints at 3, 6.
  EXPECT_EQ(reader.tasks(0).size(), 1u);
  EXPECT_EQ(reader.tasks(1).size(), 8u);
  EXPECT_EQ(reader.tasks(2).size(), 9u);
  EXPECT_EQ(reader.tasks(3).size(), 9u);
  EXPECT_EQ(reader.tasks(6).size(), 10u);
  for (const RecordedTask& task : reader.tasks(6)) EXPECT_EQ(task.state, "done") << task.node;
  std::vector<RecordedVersion> versions = reader.versions("policy");
  ASSERT_EQ(versions.size(), 7u);
  EXPECT_EQ(versions[0].outcome, "init");
  EXPECT_EQ(versions[6].outcome, "applied");
  EXPECT_TRUE(versions[6].checkpoint);
}

// With keep = 1 the newest stays, and the newest one that an unfinished step could go on from: at the checkpoint of
// step 9, step 9 itself is unfinished and reads v8, so v6 stays and v3 goes.
TEST(Engine, OldCheckpointsGo) {
  ScratchFolder folder("retention");
  PlanShape shape;
  shape.steps = 9;
  ASSERT_EQ(run_fake(fake_plan(shape), run_dir(folder, "a")).code, ExitCode::yes);
  std::vector<RecordedVersion> versions = RunReader(run_dir(folder, "a")).versions("policy");
  EXPECT_TRUE(versions[0].checkpoint);
  EXPECT_FALSE(versions[3].checkpoint);
  EXPECT_TRUE(versions[6].checkpoint);
  EXPECT_TRUE(versions[9].checkpoint);
}

TEST(Engine, ExecutorsAndOrdersAgree) {
  ScratchFolder folder("orders");
  for (int lag : {0, 1, 2}) {
    PlanShape shape;
    shape.steps = 5;
    shape.lag = lag;
    shape.two_groups = lag > 0;
    shape.critic = true;
    Plan plan = fake_plan(shape);
    std::string name = "lag" + std::to_string(lag);
    ASSERT_EQ(run_fake(plan, run_dir(folder, name)).code, ExitCode::yes);
    auto expected = trace_of(run_dir(folder, name));
    if (testing::kTbbRuns) {
      ASSERT_EQ(run_fake(plan, run_dir(folder, name + "tbb"), false, EngineOptions::Threads::tbb).code, ExitCode::yes);
      EXPECT_EQ(trace_of(run_dir(folder, name + "tbb")), expected);
    }
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      auto dir = run_dir(folder, name + "s" + std::to_string(seed));
      ASSERT_EQ(run_fake(plan, dir, false, EngineOptions::Threads::seeded, seed).code, ExitCode::yes);
      EXPECT_EQ(trace_of(dir), expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace rlflow
