// Do two runs with one seed give the same bits, and two seeds different ones?
#include <gtest/gtest.h>

#include "tests/end_to_end/run_inspection.h"

namespace rlflow::testing {
namespace {

TEST(Determinism, OneSeedOneHistory) {
  ScratchFolder runs("determinism");
  for (const char* name : {"first", "second"}) {
    ProcessResult result = rlflow(small_grpo(runs.path(), name, 10));
    ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  }
  auto first = weights_by_version(runs.path() + "/first", "policy");
  ASSERT_EQ(first.size(), 11u);  // v(0) … v(10)
  EXPECT_EQ(first, weights_by_version(runs.path() + "/second", "policy"));
  auto outputs = outputs_by_task(runs.path() + "/first");
  EXPECT_GE(outputs.size(), 50u);  // take, rollout, score, advantage, update of ten steps
  EXPECT_EQ(outputs, outputs_by_task(runs.path() + "/second"));
}

TEST(Determinism, AnotherSeedIsAnotherHistory) {
  ScratchFolder runs("seeds");
  ASSERT_EQ(rlflow(small_grpo(runs.path(), "one", 2, {"--seed", "1"})).exit_code, 0);
  ASSERT_EQ(rlflow(small_grpo(runs.path(), "two", 2, {"--seed", "2"})).exit_code, 0);
  auto one = weights_by_version(runs.path() + "/one", "policy");
  auto two = weights_by_version(runs.path() + "/two", "policy");
  EXPECT_EQ(one[0], two[0]);
  EXPECT_NE(one[1], two[1]);
}

// A replica on a group of its own, one step behind: overlap must not reach a result.
TEST(Determinism, TwoGroupsWithLagRepeatThemselves) {
  ScratchFolder runs("lag");
  std::string program = read_file(std::string(RLFLOW_SOURCE_DIR) + "/pipelines/tiny_grpo.rlflow");
  auto replace = [&](const std::string& from, const std::string& to) {
    std::size_t at = program.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    program.replace(at, from.size(), to);
  };
  replace("group   here    = cpu { threads = 2 }", "group here = cpu { threads = 1 }\ngroup there = cpu { threads = 1 }");
  replace("replica sampler = policy on here", "replica sampler = policy on there");
  replace("every 1 step lag 0", "every 1 step lag 1");
  replace("kl = kl }", "kl = kl, off_policy = truncate(2.0) }");
  std::string file = runs.path() + "/lag.rlflow";
  write_file(file, program);
  std::string models = std::string(RLFLOW_SOURCE_DIR) + "/models";
  write_file(runs.path() + "/rlflow.toml", "");
  ASSERT_EQ(run_process({"cp", "-r", models, runs.path()}).exit_code, 0);
  for (const char* name : {"first", "second"}) {
    std::vector<std::string> arguments = small_grpo(runs.path(), name, 6);
    arguments[1] = file;
    ProcessResult result = rlflow(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  }
  auto first = weights_by_version(runs.path() + "/first", "policy");
  ASSERT_EQ(first.size(), 7u);
  EXPECT_EQ(first, weights_by_version(runs.path() + "/second", "policy"));
}

}  // namespace
}  // namespace rlflow::testing
