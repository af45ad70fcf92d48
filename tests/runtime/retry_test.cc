// Does a run that failed for good go on, to the same bits, once its failed tasks are given another chance?
#include "runtime/store/retry.h"

#include <gtest/gtest.h>

#include "runtime/store/run_reader.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;

class Retry : public ::testing::Test {
 protected:
  // `r` fails in step 2, and its `on_failure` is `fail`.
  void SetUp() override {
    ASSERT_EQ(testing::run_fake(plan_, base_ / "whole").code, ExitCode::yes);
    testing::node_of(plan_, "r").on_failure = OnFailure::fail;
    library_.before = [](const PlanNode& node, const TaskInputs&, const TaskContext& context) {
      if (node.name == "r" && context.step == 2) throw std::runtime_error("no such judge");
    };
    testing::Recording recording;
    ASSERT_EQ(testing::run_with(plan_, testing::request_for(dir_), library_, recording).code, ExitCode::no);
    ASSERT_EQ(RunReader(dir_).run().state, RunState::failed);
  }
  std::string refused(const TaskName& task) {
    try {
      reset_failed_tasks(files_, dir_, task);
    } catch (const StoreError& error) {
      return error.what();
    }
    return {};
  }

  testing::ScratchFolder folder_{"retry"};
  fs::path base_ = folder_.path();
  fs::path dir_ = base_ / "run";
  Plan plan_ = testing::fake_plan({});
  testing::FakeLibrary library_;
  PosixFiles files_;
};

TEST_F(Retry, GoesOnToTheSameBits) {
  EXPECT_EQ(testing::run_fake(plan_, dir_, true).code_id, "R0213");
  EXPECT_EQ(reset_failed_tasks(files_, dir_, {}), (std::vector<TaskName>{{"r", 2, 0}}));
  EXPECT_EQ(RunReader(dir_).run().state, RunState::stopped);
  ASSERT_EQ(testing::run_fake(plan_, dir_, true).code, ExitCode::yes);
  EXPECT_EQ(testing::trace_of(dir_), testing::trace_of(base_ / "whole"));
  auto history = RunReader(dir_).history("r", 2, 0);
  ASSERT_EQ(history->attempts.size(), 2u);  // the failure stays recorded
  EXPECT_EQ(history->attempts[0].detail, "no such judge");
  EXPECT_EQ(history->attempts[1].ended, "done");
}

TEST_F(Retry, OfOneTaskTakesOnlyOneThatFailed) {
  EXPECT_EQ(refused({"traj", 2, 0}), "task `traj:2` is done");
  EXPECT_EQ(refused({"traj", 99, 0}), "task `traj:99` is not recorded");
  EXPECT_EQ(refused({"adv", 2, 0}), "task `adv:2` did not fail");
  EXPECT_EQ(refused({"r", 2, 0}), "");
  EXPECT_EQ(refused({"r", 2, 0}), "task `r:2` did not fail");
}

}  // namespace
}  // namespace rlflow
