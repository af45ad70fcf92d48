// Does a fork of a real run go on as its parent, or as its own program says?
#include "tests/cli/tiny_runs.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class ForkVerb : public TinyRuns<ForkVerb> {
 public:
  static void make_runs() {
    must({"run", "p.rlflow", "--name", "one"});
    must({"run", "p.rlflow", "--name", "cool", "-s", "traj.temperature=0.5"});
    must({"run", "p.rlflow", "--name", "held", "-s", "kl=0.05"});
  }

 protected:
  void TearDown() override { fs::remove_all(run_dir("child")); }
  static json diff(const std::string& left, const std::string& right) {
    return json_of(run({"diff", left, right, "--json"}));
  }
};

TEST_F(ForkVerb, WithoutAChangeEndsInTheBitsOfItsParent) {
  for (const char* step : {"0", "1", "3"}) {
    ProcessResult made = run({"fork", "one", "--from-step", step, "--name", "child"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_NE(made.out.find("rlflow resume child"), std::string::npos) << made.out;
    must({"fsck", "child", "--deep"});
    must({"resume", "child"});
    EXPECT_EQ(diff("one", "child").at("first_divergence"), nullptr) << step;
    must({"fsck", "child", "--deep"});
    fs::remove_all(run_dir("child"));
  }
}

// Nothing that the temperature touches was done before step 1: so the fork is the run that had it from the start.
TEST_F(ForkVerb, WithAChangeFromTheStartIsTheRunThatHadItFromTheStart) {
  json made =
      json_of(run({"fork", "one", "--from-step", "0", "-s", "traj.temperature=0.5", "--name", "child", "--json"}));
  EXPECT_EQ(made.at("format"), "rlflow.fork/1");
  EXPECT_EQ(made.at("parent"), "one");
  EXPECT_EQ(made.at("changes")[0].at("address"), "traj.temperature");
  must({"resume", "child"});
  EXPECT_EQ(diff("cool", "child").at("same"), true) << diff("cool", "child");
}

// README's own example was refused: a KL term brings the frozen reference with it, which the parent did not load.
TEST_F(ForkVerb, WithAFrozenModelThatComesOrGoes) {
  must({"fork", "one", "--from-step", "0", "-s", "kl=0.05", "--name", "child"});
  must({"fsck", "child", "--deep"});
  must({"resume", "child"});
  EXPECT_EQ(diff("held", "child").at("same"), true) << diff("held", "child");
  must({"fsck", "child", "--deep"});
  fs::remove_all(run_dir("child"));
  must({"fork", "held", "--from-step", "1", "-s", "kl=0", "--name", "child"});
  must({"resume", "child"});
  must({"fsck", "child", "--deep"});
  must({"replay", "child", "--task", "step:3"});
}

TEST_F(ForkVerb, WithAFrozenModelThatIsAnotherIsRefused) {
  fs::copy(path("models/tiny"), path("models/other"));
  write_file(path("other.rlflow"),
             spoilt("model ref    = load(\"models/tiny\")", "model ref    = load(\"models/other\")"));
  ProcessResult refused = run({"fork", "held", "--from-step", "1", "--with", "other.rlflow", "--name", "child"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("model `ref` has other weights"), std::string::npos) << refused.err;
}

TEST_F(ForkVerb, WithAnotherOptimizerBeginsAtTheWeightsOfItsParent) {
  must({"fork", "one", "--from-step", "2", "-s", "policy.optim.lr=0.01", "--name", "child"});
  must({"resume", "child"});
  must({"fsck", "child", "--deep"});
  EXPECT_EQ(diff("one", "child").at("first_divergence").at("task"), "step:3");
  must({"replay", "child", "--task", "step:3"});
  ProcessResult inherited = run({"replay", "child", "--task", "step:2"});
  EXPECT_EQ(inherited.exit_code, 2);
  EXPECT_NE(inherited.err.find("was made by run `one`"), std::string::npos) << inherited.err;
  EXPECT_EQ(json_of(run({"show", "child", "--json"})).at("parent"), "one");
  EXPECT_EQ(run({"export", "child", "--model", "policy", "--version", "1", "-o", "v1"}).exit_code, 2);
  must({"export", "child", "--model", "policy", "--version", "2", "-o", "v2"});
}

TEST_F(ForkVerb, WithAnotherProgram) {
  write_file(path("rloo.rlflow"), spoilt("estimator = grpo", "estimator = rloo"));
  must({"fork", "one", "--from-step", "1", "--with", "rloo.rlflow", "--name", "child"});
  must({"resume", "child"});
  EXPECT_EQ(diff("one", "child").at("first_divergence").at("task"), "adv:2");
}

TEST_F(ForkVerb, SharesItsFilesAndOutlivesItsParent) {
  copy_run("one", "parent");
  must({"fork", "parent", "--from-step", "2", "--name", "child"});
  EXPECT_EQ(fs::hard_link_count(artifact_of("child", "traj", 1)), 2u);
  fs::remove_all(run_dir("parent"));
  must({"fsck", "child", "--deep"});
  must({"resume", "child"});
  EXPECT_EQ(diff("one", "child").at("first_divergence"), nullptr);
}

TEST_F(ForkVerb, WhatCannotBeForkedIsRefused) {
  EXPECT_EQ(run({"fork", "one", "--from-step", "9", "--name", "child"}).exit_code, 2);
  EXPECT_EQ(run({"fork", "one", "-s", "nothing=1", "--name", "child"}).exit_code, 1);
  EXPECT_EQ(run({"fork", "one", "--name", "cool"}).exit_code, 2);
  EXPECT_EQ(run({"fork", "absent"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(run_dir("child")));
}

TEST_F(ForkVerb, ResumeFromACheckpointIsARecordedFork) {
  ProcessResult result = run({"resume", "one", "--from-checkpoint", "-s", "stop=4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  json child = json_of(run({"show", "@last", "--json"}));
  EXPECT_EQ(child.at("parent"), "one");
  EXPECT_EQ(child.at("parent_step"), 3);
  EXPECT_EQ(child.at("committed"), 4);
  EXPECT_EQ(json_of(run({"show", "one", "--json"})).at("committed"), 3);
  fs::remove_all(run_dir(child.at("name")));
}

}  // namespace
}  // namespace rlflow::testing
