// Does a run survive a kill at every single point of its commit path, and of its recovery?
#include <gtest/gtest.h>

#include "tests/runtime/crash_points.h"
#include "tests/runtime/disk_image.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::die_at;
using testing::Draw;
using testing::fake_plan;
using testing::go_on_and_compare;
using testing::long_size;
using testing::PlanShape;
using testing::points_of;

class KillPoints : public ::testing::Test {
 protected:
  // Rollouts on a group of their own, a held version, evaluations, checkpoints that are pruned; long: a critic, a lag.
  static PlanShape shape() {
    PlanShape shape;
    shape.steps = long_size() ? 5 : 3;
    shape.checkpoint_every = 1;
    shape.two_groups = true;
    shape.lag = long_size() ? 1 : 0;
    shape.critic = long_size();
    shape.evaluate_every = 3;
    shape.update_from = 2;
    return shape;
  }
  // Under AddressSanitizer a process costs ten times as much: every seventh point there, all of them without it.
#ifdef __SANITIZE_ADDRESS__
  static constexpr std::int64_t kStride = 7;
#else
  static constexpr std::int64_t kStride = 1;
#endif

  void report(const char* what, std::int64_t tried, std::int64_t failed) {
    std::printf("%s: %lld points tried, %lld failures\n", what, static_cast<long long>(tried),
                static_cast<long long>(failed));
    EXPECT_EQ(failed, 0);
  }
  void SetUp() override {
    points_ = points_of(plan_, base_ / "whole", false);
    whole_ = testing::trace_of(base_ / "whole");
  }

  testing::ScratchFolder folder_{"kill-points"};
  fs::path base_ = fs::canonical(folder_.path());
  Plan plan_ = fake_plan(shape());
  std::vector<std::string> points_;
  std::map<std::string, std::string> whole_;
};

TEST_F(KillPoints, EveryOneInTurn) {
  std::int64_t tried = 0, failed = 0;
  for (std::size_t number = 1; number <= points_.size(); number += kStride) {
    ++tried;
    fs::remove_all(base_ / "run");
    ASSERT_TRUE(die_at(plan_, base_ / "run", false, static_cast<std::int64_t>(number)));
    std::string wrong = go_on_and_compare(plan_, base_ / "run", whole_);
    failed += wrong.empty() ? 0 : 1;
    EXPECT_EQ(wrong, "") << "killed at point " << number << ", " << points_[number - 1];
  }
  report("kill", tried, failed);
}

TEST_F(KillPoints, EveryOneOfARecovery) {
  std::int64_t tried = 0, failed = 0;
  const int runs = long_size() ? 40 : 1;
  Draw draw{7};
  for (int run = 0; run < runs; ++run) {
    // The first late in the run, so that there is something to recover.
    auto number = run == 0 ? points_.size() * 3 / 4
                           : static_cast<std::size_t>(1 + draw.below(static_cast<int>(points_.size()) - 1));
    fs::remove_all(base_ / "killed");
    ASSERT_TRUE(die_at(plan_, base_ / "killed", false, static_cast<std::int64_t>(number)));
    if (!fs::exists(base_ / "killed" / "state.db")) continue;
    for (std::int64_t recovery = 1;; recovery += kStride) {
      testing::copy_folder(base_ / "killed", base_ / "run");
      if (!die_at(plan_, base_ / "run", true, recovery)) break;
      ++tried;
      std::string wrong = go_on_and_compare(plan_, base_ / "run", whole_);
      failed += wrong.empty() ? 0 : 1;
      EXPECT_EQ(wrong, "") << "killed at " << points_[number - 1] << ", again at point " << recovery
                           << " of the resume";
    }
  }
  EXPECT_GE(tried, 200 / kStride);
  report("kill during recovery", tried, failed);
}

// The list of points holds what it is meant to: a refactoring that loses one is noticed.
TEST_F(KillPoints, AreAllThere) {
  die_at(plan_, base_ / "run", false, static_cast<std::int64_t>(points_.size()) / 2);
  std::vector<std::string> all = points_of(plan_, base_ / "run", true);
  all.insert(all.end(), points_.begin(), points_.end());
  for (const char* name :
       {"artifact: created",     "artifact: written",     "artifact: synced",      "artifact: renamed",
        "artifact: durable",     "transaction: begun",    "transaction: complete", "transaction: committed",
        "finish: artifacts",     "finish: outputs",       "finish: edges",         "finish: task",
        "finish: metrics",       "finish: version",       "step: recorded",        "checkpoint: parts",
        "checkpoint: manifest",  "checkpoint: truncated", "prune: rows condemned", "prune: condemned",
        "prune: unlinked",       "prune: gone",           "birth: program",        "birth: schema",
        "birth: staged",         "birth: renamed",        "birth: durable",        "recovery: epoch",
        "recovery: epoch begun", "recovery: cleared",     "recovery: tasks",       "recovery: models"}) {
    EXPECT_NE(std::find(all.begin(), all.end(), name), all.end()) << name;
  }
}

}  // namespace
}  // namespace rlflow
