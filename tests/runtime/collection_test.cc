// What does garbage collection leave of a run, and does a kill at any point of it matter?
#include "runtime/store/collection.h"

#include <gtest/gtest.h>

#include "runtime/engine/needed_versions.h"
#include "runtime/engine/outcomes.h"
#include "runtime/store/fsck.h"
#include "runtime/store/run_reader.h"
#include "tests/runtime/crash_points.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::FakeLibrary;
using testing::run_fake;
using testing::trace_of;

class CollectionTest : public ::testing::Test {
 protected:
  // Nine steps with a checkpoint every third, all kept by the program; paused after `pause_after`.
  void SetUp() override {
    testing::PlanShape shape;
    shape.steps = 9;
    shape.keep = 0;
    shape.critic = true;
    plan_ = testing::fake_plan(shape);
    ASSERT_EQ(run_fake(plan_, whole()).code, ExitCode::yes);
  }
  fs::path whole() const { return base_ / "whole"; }
  // A copy of the run, or a run of its own that ends at an earlier step.
  void begin(Step steps) {
    fs::remove_all(run_dir_);
    if (steps == 9) return testing::copy_folder(whole(), run_dir_);
    Plan shorter = plan_;
    shorter.stop_after = steps;
    ASSERT_EQ(run_fake(shorter, run_dir_).code, ExitCode::yes);
  }
  Retention retention() const {
    StepGraph graph(plan_);
    Step committed = RunReader(run_dir_).run().committed;
    return {1, 0, needed_versions(plan_, graph, committed + 1)};
  }
  Collection collect(std::optional<Step> before, bool dry_run = false) {
    PosixFiles files;
    return collect_garbage(files, run_dir_, retention(), before, dry_run);
  }
  std::string replayed(const std::string& task) {
    ReplayReport report;
    FakeLibrary library;
    EngineOptions options;
    options.threads = EngineOptions::Threads::seeded;
    replay_task(plan_, {run_dir_, task}, library, report, options);
    switch (report.verdict) {
      case Verdict::identical: return "identical";
      case Verdict::differs: return "differs: " + report.detail;
      case Verdict::cannot: return "cannot: " + report.detail;
    }
    return {};
  }
  void expect_sound() {
    PosixFiles files;
    FsckReport report = fsck(files, run_dir_, true);
    for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
    EXPECT_TRUE(report.leftovers.empty());
  }

  testing::ScratchFolder folder_{"collection"};
  fs::path base_ = fs::canonical(folder_.path());
  fs::path run_dir_ = base_ / "run";
  Plan plan_;
};

TEST_F(CollectionTest, ADryRunChangesNothing) {
  begin(9);
  Collection would = collect(7, true);
  EXPECT_GT(would.artifacts.size(), 50u);
  expect_sound();
  Collection again = collect(7, true);
  EXPECT_EQ(again.artifacts.size(), would.artifacts.size());
  Collection done = collect(7);
  EXPECT_EQ(done.artifacts.size(), would.artifacts.size());
  EXPECT_EQ(done.bytes, would.bytes);
  EXPECT_TRUE(collect(7).artifacts.empty());
}

TEST_F(CollectionTest, OldCheckpointsGoAndEveryTaskReplaysStill) {
  begin(9);
  EXPECT_FALSE(collect({}).artifacts.empty());
  expect_sound();
  for (const RecordedVersion& version : RunReader(run_dir_).versions("policy")) {
    EXPECT_EQ(version.checkpoint, version.version == 0 || version.version == 9) << version.version;
  }
  for (const char* task : {"traj:2", "step:5", "vstep:9", "acc:6"}) EXPECT_EQ(replayed(task), "identical") << task;
}

TEST_F(CollectionTest, EveryMthCheckpointStays) {
  begin(9);
  PosixFiles files;
  Retention some = retention();
  some.every = 6;
  collect_garbage(files, run_dir_, some, {}, false);
  std::vector<RecordedVersion> versions = RunReader(run_dir_).versions("policy");
  EXPECT_FALSE(versions[3].checkpoint);
  EXPECT_TRUE(versions[6].checkpoint);
}

TEST_F(CollectionTest, WhatWasCollectedCannotBeReplayedAndIsNamed) {
  begin(9);
  collect(7);
  expect_sound();
  EXPECT_EQ(replayed("r:3"), "cannot: output 0 of `traj:3` was thrown away by `gc`");
  EXPECT_EQ(replayed("step:9"), "cannot: input 0 of `step:1` was thrown away by `gc`");
  EXPECT_EQ(replayed("r:8"), "identical");
  EXPECT_EQ(replayed("acc:8"), "cannot: input 0 of `step:1` was thrown away by `gc`");
  EXPECT_EQ(trace_of(run_dir_), trace_of(whole()));  // every row is there still
}

TEST_F(CollectionTest, ARunGoesOnToTheSameBits) {
  for (Step steps = 1; steps < 9; ++steps) {
    begin(steps);
    collect(steps + 5);
    expect_sound();
    ASSERT_EQ(run_fake(plan_, run_dir_, true).code, ExitCode::yes) << steps;
    // The shorter run's last step was evaluated besides; all else is the same.
    auto trace = trace_of(run_dir_);
    for (const auto& [name, value] : trace_of(whole())) EXPECT_EQ(trace[name], value) << name << " after " << steps;
    expect_sound();
  }
}

TEST_F(CollectionTest, AKillAtAnyPointIsFinishedByTheNextOneOrByResume) {
  Retention kept;
  testing::Work work = [&](FileLayer& files) {
    return caught([&] {
      collect_garbage(files, run_dir_, kept, 4, false);
      return Outcome{};
    });
  };
  begin(6);
  kept = retention();
  std::vector<std::string> points = testing::points_of(base_, work);
  auto expected = trace_of(run_dir_);
  std::int64_t failed = 0;
  begin(6);
  testing::copy_folder(run_dir_, base_ / "six");
  for (std::size_t number = 1; number <= points.size(); ++number) {
    testing::copy_folder(base_ / "six", run_dir_);
    ASSERT_TRUE(testing::die_at(base_, work, static_cast<std::int64_t>(number))) << points[number - 1];
    PosixFiles files;
    std::vector<std::string> problems = fsck(files, run_dir_, true).problems;
    failed += problems.empty() ? 0 : 1;
    EXPECT_TRUE(problems.empty()) << points[number - 1] << ": " << problems.front();
    if (number % 2 == 0) {
      collect_garbage(files, run_dir_, kept, 4, false);
      EXPECT_EQ(trace_of(run_dir_), expected) << points[number - 1];
    } else {
      ASSERT_EQ(run_fake(plan_, run_dir_, true).code, ExitCode::yes) << points[number - 1];
      EXPECT_EQ(trace_of(run_dir_), trace_of(whole())) << points[number - 1];
    }
    expect_sound();
  }
  std::printf("kill during gc: %zu points tried, %lld failures\n", points.size(), static_cast<long long>(failed));
  EXPECT_GT(points.size(), 50u);
}

}  // namespace
}  // namespace rlflow
