// Does the demonstration learn: accuracy at temperature 1 from at most 0.50 to at least 0.90 in 100 steps?
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/end_to_end/run_inspection.h"

namespace rlflow::testing {
namespace {

class Learning : public ::testing::TestWithParam<int> {};

TEST_P(Learning, ShowingItsWorkPays) {
  ScratchFolder runs("learning-" + std::to_string(GetParam()));
  ProcessResult result = rlflow({"run", "pipelines/tiny_grpo.rlflow", "--plain", "--runs-dir", runs.path(), "--name", "r",
                                 "--seed", std::to_string(GetParam()), "-s", "test.size=512"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  std::string run = runs.path() + "/r";
  EXPECT_LE(metric(run, 0, "acc", "accuracy"), 0.50);
  EXPECT_GE(metric(run, 100, "acc", "accuracy"), 0.90);
  EXPECT_GE(metric(run, 100, "traj", "response_length/mean"), 18.0);  // from 8.5: it shows its work
}

INSTANTIATE_TEST_SUITE_P(Seeds, Learning, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace rlflow::testing
