// Does PPO with a critic keep what GRPO promises: equal bits after a kill and a resume, tasks that prove themselves?
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/end_to_end/run_inspection.h"

namespace rlflow::testing {
namespace {

// The program of `rlflow new ppo` in a project of its own, on a small batch; the policy starts at step 10.
class Ppo : public ::testing::Test {
 protected:
  Ppo() {
    write_file(folder_.path() + "/rlflow.toml", "");
    std::filesystem::create_symlink(std::string(RLFLOW_SOURCE_DIR) + "/models", folder_.path() + "/models");
    write_file(folder_.path() + "/ppo.rlflow", rlflow({"new", "ppo"}).out);
  }
  std::vector<std::string> run(const std::string& name) const {
    return {"run",
            folder_.path() + "/ppo.rlflow",
            "--plain",
            "--name",
            name,
            "--runs-dir",
            folder_.path() + "/runs",
            "-s",
            "batch.count=32",
            "-s",
            "steps=14",
            "-s",
            "vstep.minibatch=16 seqs",
            "-s",
            "pstep.minibatch=16 seqs"};
  }
  std::string path(const std::string& name) const { return folder_.path() + "/runs/" + name; }
  ScratchFolder folder_{"ppo"};
};

TEST_F(Ppo, AKilledRunGoesOnWithTheSameBitsInBothModels) {
  ProcessResult whole = rlflow(run("whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err << whole.out;
  for (const char* when : {"step  4/", "step 12/"}) {
    const std::string name = std::string("killed") + when[5];
    ProcessOptions killed;
    killed.kill_when = when;
    killed.kill_after = std::chrono::microseconds(40'000);
    EXPECT_EQ(rlflow(run(name), killed).signal, SIGKILL);
    ProcessResult resumed = rlflow({"resume", name, "--runs-dir", folder_.path() + "/runs"});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err << resumed.out;
    for (const char* model : {"policy", "critic"}) {
      const auto weights = weights_by_version(path("whole"), model);
      EXPECT_EQ(weights.size(), 15u);
      EXPECT_EQ(weights_by_version(path(name), model), weights) << model << " killed at " << when;
    }
    EXPECT_EQ(outputs_by_task(path(name)), outputs_by_task(path("whole")));
  }
  // The critic learns from the first step on, the policy is held before step 10.
  const auto policy = weights_by_version(path("whole"), "policy"), critic = weights_by_version(path("whole"), "critic");
  EXPECT_EQ(policy.at(0), policy.at(9));
  EXPECT_NE(policy.at(9), policy.at(10));
  EXPECT_NE(critic.at(0), critic.at(1));

  for (const char* task : {"val:12", "coef:12", "dense:12", "adv:12", "vstep:12", "pstep:12"}) {
    ProcessResult result = rlflow({"replay", "whole", "--task", task, "--runs-dir", folder_.path() + "/runs"});
    EXPECT_EQ(result.exit_code, 0) << task << "\n" << result.out << result.err;
    EXPECT_NE(result.out.find("identical"), std::string::npos) << task << "\n" << result.out;
  }
}

}  // namespace
}  // namespace rlflow::testing
