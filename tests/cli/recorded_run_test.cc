// What do the verbs say of a run that is recorded: runs, show, resume, replay, export?
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// One run of three steps, made once for all tests.
class RecordedRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>("recorded");
    fs::create_directories(folder_->path() + "/models");
    fs::copy(std::string(RLFLOW_SOURCE_DIR) + "/models/tiny", folder_->path() + "/models/tiny");
    write_file(folder_->path() + "/p.rlflow", kTinyProgram);
    first_ = run({"run", "p.rlflow", "--name", "one", "--seed", "7"});
    ASSERT_EQ(first_.exit_code, 0) << first_.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static ProcessResult run(const std::vector<std::string>& arguments) { return rlflow(arguments, folder_->path()); }

  static std::unique_ptr<ScratchFolder> folder_;
  static ProcessResult first_;
};
std::unique_ptr<ScratchFolder> RecordedRun::folder_;
ProcessResult RecordedRun::first_;

TEST_F(RecordedRun, PrintedOneLineAStepAndWhatToTypeNext) {
  for (const char* part :
       {"step 1/3 ", "step 2/3 ", "step 3/3 ", "rlflow show one", "rlflow replay one --task step:3"}) {
    EXPECT_NE(first_.out.find(part), std::string::npos) << part << " in\n" << first_.out;
  }
}

TEST_F(RecordedRun, IsListed) {
  EXPECT_NE(run({"runs"}).out.find("one  done   3/3"), std::string::npos) << run({"runs"}).out;
  json object = json_of(run({"runs", "--json"}));
  ASSERT_EQ(object.at("runs").size(), 1u);
  const json& one = object.at("runs")[0];
  EXPECT_EQ(one.at("name"), "one");
  EXPECT_EQ(one.at("state"), "done");
  EXPECT_EQ(one.at("committed"), 3);
  EXPECT_EQ(one.at("total"), 3);
}

TEST_F(RecordedRun, ShowTellsStateSeedVersionsAndMetrics) {
  json object = json_of(run({"show", "@last", "--json"}));
  EXPECT_EQ(object.at("format"), "rlflow.show/1");
  EXPECT_EQ(object.at("state"), "done");
  EXPECT_EQ(object.at("seed"), 7);
  EXPECT_EQ(object.at("committed"), 3);
  EXPECT_NE(object.at("command").get<std::string>().find("run p.rlflow --name one --seed 7"), std::string::npos);
  EXPECT_TRUE(object.at("metrics").contains("r.reward/mean"));
  std::vector<std::int64_t> versions;  // every step makes one
  for (const json& version : object.at("versions")) {
    EXPECT_EQ(version.at("model"), "policy");
    EXPECT_EQ(version.at("weights").get<std::string>().size(), 32u);
    versions.push_back(version.at("version"));
  }
  EXPECT_EQ(versions, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_NE(run({"show", "one"}).out.find("one  done  step 3 of 3"), std::string::npos);
}

TEST_F(RecordedRun, ShowStepListsItsTasksInOrder) {
  json object = json_of(run({"show", "one", "--step", "2", "--json"}));
  std::vector<std::string> tasks;
  for (const json& task : object.at("tasks")) {
    tasks.push_back(task.at("task"));
    EXPECT_EQ(task.at("state"), "done");
  }
  EXPECT_EQ(tasks, (std::vector<std::string>{"batch:2", "traj:2", "r:2", "adv:2", "step:2"}));
  EXPECT_NE(run({"show", "one", "--step", "2"}).out.find("traj:2"), std::string::npos);
}

TEST_F(RecordedRun, ShowTaskTellsKeyAndOutputs) {
  json object = json_of(run({"show", "one", "--task", "traj:2", "--json"}));
  const json& task = object.at("task");
  EXPECT_EQ(task.at("key").get<std::string>().size(), 64u);
  ASSERT_EQ(task.at("outputs").size(), 1u);
  EXPECT_EQ(task.at("outputs")[0].at("kind"), "traj");
  EXPECT_GT(task.at("outputs")[0].at("bytes").get<int>(), 0);
  EXPECT_TRUE(object.at("metrics").contains("traj.tokens"));
  EXPECT_NE(run({"show", "one", "--task", "traj:2"}).out.find("1 attempt, 0 failures"), std::string::npos);
}

TEST_F(RecordedRun, WhatIsNotThereIsRefused) {
  const std::vector<std::vector<std::string>> commands = {{"show", "one", "--step", "4"},
                                                          {"show", "one", "--task", "traj:4"},
                                                          {"show", "one", "--task", "traj"},
                                                          {"replay", "one", "--task", "x:1"},
                                                          {"export", "one", "--model", "x", "-o", "out"}};
  for (const auto& command : commands) {
    ProcessResult result = run(command);
    EXPECT_EQ(result.exit_code, 2) << command[0] << " " << command[3] << ": " << result.err;
    EXPECT_NE(result.err.find("error[R"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("= help: "), std::string::npos) << result.err;
  }
  ProcessResult misspelt = run({"show", "oen"});
  EXPECT_NE(misspelt.err.find("did you mean `one`?"), std::string::npos) << misspelt.err;
}

TEST_F(RecordedRun, ATaskReplaysIdentically) {
  ProcessResult result = run({"replay", "one", "--task", "traj:2", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json_of(result).at("verdict"), "identical");
}

// SQLite 3.40's quick_check once took the column order of a table for damage.
TEST_F(RecordedRun, ResumeOfAFinishedRunSaysSoAndIsNoError) {
  ProcessResult result = run({"resume", "one"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("finished already"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("error"), std::string::npos) << result.err;
}

TEST_F(RecordedRun, ResumeMayNotChangeWhatTheRunMeans) {
  ProcessResult result = run({"resume", "one", "-s", "traj.temperature=0.5"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("error[R0215]"), std::string::npos) << result.err;
}

// What a file of overrides said is recorded, so a resume needs the file no longer; and an override of the resume wins
// over a recorded one of the same address (it was once called "given twice").
TEST_F(RecordedRun, ResumeSeesWhatAFileOfOverridesSaid) {
  const std::string file = folder_->path() + "/small.toml";
  write_file(file, "stop = 1\n[traj]\ntemperature = 0.75\n");
  ProcessResult first = run({"run", "p.rlflow", "--name", "small", "-f", "small.toml", "-s", "traj.max_new=12"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  fs::remove(file);
  ProcessResult more = run({"resume", "small", "-s", "stop=2"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_NE(more.out.find("2/2"), std::string::npos) << more.out;
}

TEST_F(RecordedRun, ASecondRunOfTheSameNameIsRefused) {
  ProcessResult result = run({"run", "p.rlflow", "--name", "one"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("error[R0202]"), std::string::npos) << result.err;
}

TEST_F(RecordedRun, ExportsAModelFolder) {
  ProcessResult result = run({"export", "one", "--model", "policy", "-o", "exported"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
    EXPECT_TRUE(fs::exists(folder_->path() + "/exported/" + file)) << file;
  }
}

TEST_F(RecordedRun, RunAsJsonPrintsOneObjectALine) {
  ProcessResult result = run({"run", "p.rlflow", "--name", "lines", "--json", "--runs-dir", "others"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(result.out);
  std::vector<std::int64_t> steps;
  for (std::string line; std::getline(lines, line);) {
    json object = json::parse(line, nullptr, false);
    ASSERT_TRUE(object.is_object()) << line;
    EXPECT_EQ(object.at("format"), "rlflow.run/1");
    if (object.at("event") == "step") steps.push_back(object.at("step"));
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace rlflow::testing
