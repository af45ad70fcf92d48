// Do ranges of steps, single samples and bundles of tasks replay, and does a bundle replay without its run?
#include <map>

#include "tests/cli/tiny_runs.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class ReplayVerbs : public TinyRuns<ReplayVerbs> {
 public:
  static void make_runs() { must({"run", "p.rlflow", "--name", "one", "-s", "kl=0.1"}); }

 protected:
  void TearDown() override { fs::remove_all(path("bundle")); }
};

TEST_F(ReplayVerbs, ARangeOfStepsIsIdentical) {
  ProcessResult result = run({"replay", "one", "--steps", "1..3", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  json report = json_of(result);
  EXPECT_EQ(report.at("verdict"), "identical");
  EXPECT_EQ(report.at("tasks").size(), 18u);  // six a step
  for (const json& task : report.at("tasks")) EXPECT_EQ(task.at("verdict"), "identical") << task;
  EXPECT_EQ(report.at("notes"), json::array()) << "an update was redone that the range had made itself";
  EXPECT_NE(run({"replay", "one", "--steps", "3..3"}).out.find("6 tasks  identical"), std::string::npos);
}

TEST_F(ReplayVerbs, ARangeWithAnAlteredInputIsNot) {
  copy_run("one", "spoilt");
  const std::string file = artifact_of("spoilt", "traj", 2);
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(file, bytes);
  ProcessResult result = run({"replay", "spoilt", "--steps", "1..3", "--json"});
  json report = json_of(result);
  EXPECT_EQ(report.at("verdict"), "cannot");
  EXPECT_EQ(result.exit_code, 2);
  std::map<std::string, std::string> verdicts;
  for (const json& task : report.at("tasks")) verdicts[task.at("task")] = task.at("verdict");
  EXPECT_EQ(verdicts["r:1"], "identical");
  EXPECT_EQ(verdicts["traj:2"], "cannot");  // made anew, it is what was recorded, but not what its file holds
  EXPECT_EQ(verdicts["r:2"], "cannot");
  EXPECT_EQ(verdicts["step:2"], "cannot");
}

TEST_F(ReplayVerbs, WhatIsNoRangeOrHasNoTaskExitsTwo) {
  for (const char* steps : {"3", "3..1", "a..b", "7..9"}) {
    EXPECT_EQ(run({"replay", "one", "--steps", steps}).exit_code, 2) << steps;
  }
  EXPECT_EQ(run({"replay", "one"}).exit_code, 2);
}

TEST_F(ReplayVerbs, ASampleIsShown) {
  json made = json_of(run({"replay", "one", "--task", "traj:2", "--sample", "3", "--json"}));
  EXPECT_EQ(made.at("verdict"), "identical");
  const std::string prompt = made.at("sample").at("prompt");
  EXPECT_TRUE(prompt.ends_with("=")) << prompt;
  json judged = json_of(run({"replay", "one", "--task", "r:2", "--sample", "3", "--json"}));
  EXPECT_EQ(judged.at("sample").at("prompt"), prompt);
  EXPECT_EQ(judged.at("sample").at("response"), made.at("sample").at("response"));
  EXPECT_TRUE(judged.at("sample").contains("number"));
  EXPECT_EQ(run({"replay", "one", "--task", "traj:2", "--sample", "8"}).exit_code, 2);
  EXPECT_EQ(run({"replay", "one", "--task", "batch:2", "--sample", "0"}).exit_code, 2);
}

// The run, its project and its models are gone: a bundle is all that is left.
TEST_F(ReplayVerbs, ABundleReplaysElsewhere) {
  for (const char* task : {"step:3", "traj:1", "traj:3", "r:2", "adv:2", "refl:2", "batch:3"}) {
    ScratchFolder elsewhere("elsewhere");
    ProcessResult made = run({"export", "one", "--task", task, "-o", "bundle"});
    ASSERT_EQ(made.exit_code, 0) << task << made.err;
    fs::rename(path("bundle"), elsewhere.path() + "/taken");
    fs::rename(path("models"), path("hidden"));
    fs::rename(path("runs"), path("hidden-runs"));
    ProcessResult sound = rlflow({"fsck", "taken", "--deep"}, elsewhere.path());
    ProcessResult again = rlflow({"replay", "taken", "--json"}, elsewhere.path());
    fs::rename(path("hidden"), path("models"));
    fs::rename(path("hidden-runs"), path("runs"));
    EXPECT_EQ(sound.exit_code, 0) << task << sound.out << sound.err;
    EXPECT_EQ(again.exit_code, 0) << task << again.out << again.err;
    EXPECT_EQ(json_of(again).at("task"), task);
    EXPECT_EQ(json_of(again).at("verdict"), "identical");
  }
}

TEST_F(ReplayVerbs, ABundleIsNoRun) {
  must({"export", "one", "--task", "step:3", "-o", "bundle"});
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"resume", "bundle", "-s", "stop=9"}, {"gc", "bundle"}, {"retry", "bundle"}, {"fork", "bundle"}}) {
    ProcessResult result = run(command);
    EXPECT_EQ(result.exit_code, 2) << command.front() << result.out << result.err;
    EXPECT_NE(result.err.find("error[R0220]"), std::string::npos) << command.front() << result.err;
  }
  EXPECT_EQ(run({"export", "one", "--task", "step:3", "-o", "bundle"}).exit_code, 2) << "the folder is not empty";
  EXPECT_EQ(run({"export", "one", "--task", "step:9", "-o", "other"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(path("other")));
  EXPECT_EQ(run({"export", "one", "-o", "other"}).exit_code, 2) << "neither model nor task";
}

TEST_F(ReplayVerbs, ABundleWithAnAlteredBitIsNotIdentical) {
  must({"export", "one", "--task", "r:2", "-o", "bundle"});
  for (const auto& entry : fs::recursive_directory_iterator(path("bundle/artifacts"))) {
    if (!entry.is_regular_file()) continue;
    std::string bytes = read_file(entry.path());
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file(entry.path(), bytes);
  }
  EXPECT_EQ(run({"fsck", "bundle", "--deep"}).exit_code, 4);
  EXPECT_EQ(json_of(run({"replay", "bundle", "--json"})).at("verdict"), "cannot");
}

}  // namespace
}  // namespace rlflow::testing
