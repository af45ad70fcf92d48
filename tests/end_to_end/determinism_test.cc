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

// Groups that are scored while others are generated: the same keys, outputs and weights.
TEST(Determinism, StreamedGroupsGiveTheBitsOfTheWhole) {
  ScratchFolder runs("streamed");
  for (const std::string program : {"pipelines/tiny_grpo.rlflow", "pipelines/tiny_exec_reward.rlflow"}) {
    for (const std::string emit : {"batch", "group"}) {
      std::vector<std::string> arguments = small_grpo(runs.path(), emit, 6, {"-s", "traj.emit=" + emit});
      arguments[1] = program;
      ASSERT_EQ(rlflow(arguments).exit_code, 0) << program;
    }
    const std::string batch = runs.path() + "/batch", group = runs.path() + "/group";
    auto weights = weights_by_version(batch, "policy");
    ASSERT_EQ(weights.size(), 7u);
    EXPECT_EQ(weights, weights_by_version(group, "policy"));
    EXPECT_EQ(outputs_by_task(batch), outputs_by_task(group));
    const std::string keys = "SELECT node, step, hex(key) FROM tasks ORDER BY step, node";
    EXPECT_EQ(query(batch, keys), query(group, keys));
    EXPECT_EQ(query(batch, "SELECT node, step, name, value FROM metrics ORDER BY 1, 2, 3"),
              query(group, "SELECT node, step, name, value FROM metrics ORDER BY 1, 2, 3"));
    ASSERT_EQ(run_process({"rm", "-rf", batch, group}).exit_code, 0);
  }
}

// A replica on a group of its own is a copy of the weights, brought to each version: the results are those of one
// group.
TEST(Determinism, TwoGroupsGiveTheBitsOfOne) {
  ScratchFolder runs("groups");
  std::string program = read_file(std::string(RLFLOW_SOURCE_DIR) + "/pipelines/tiny_grpo.rlflow");
  auto replace = [&](const std::string& from, const std::string& to) {
    std::size_t at = program.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    program.replace(at, from.size(), to);
  };
  replace("group here = cpu { threads = 2 }", "group here = cpu { threads = 1 }\ngroup there = cpu { threads = 1 }");
  replace("replica sampler = policy on here", "replica sampler = policy on there");
  std::string file = runs.path() + "/two_groups.rlflow";
  write_file(file, program);
  std::string models = std::string(RLFLOW_SOURCE_DIR) + "/models";
  write_file(runs.path() + "/rlflow.toml", "");
  ASSERT_EQ(run_process({"cp", "-r", models, runs.path()}).exit_code, 0);
  std::vector<std::string> arguments = small_grpo(runs.path(), "two", 6);
  arguments[1] = file;
  ProcessResult two = rlflow(arguments);
  ASSERT_EQ(two.exit_code, 0) << two.err << two.out;
  ProcessResult one = rlflow(small_grpo(runs.path(), "one", 6));
  ASSERT_EQ(one.exit_code, 0) << one.err << one.out;
  auto weights = weights_by_version(runs.path() + "/two", "policy");
  ASSERT_EQ(weights.size(), 7u);
  EXPECT_EQ(weights, weights_by_version(runs.path() + "/one", "policy"));
}

}  // namespace
}  // namespace rlflow::testing
