// Does `gc` say what goes, and do the other verbs say what went?
#include <unistd.h>

#include "runtime/store/file_layer.h"
#include "tests/cli/tiny_runs.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

class GcVerb : public TinyRuns<GcVerb> {
 public:
  static void make_runs() { must({"run", "p.rlflow", "--name", "one"}); }

 protected:
  void SetUp() override { copy_run("one", "thin"); }
};

TEST_F(GcVerb, ADryRunListsAndChangesNothing) {
  json first = json_of(run({"gc", "thin", "--before", "3", "--dry-run", "--json"}));
  EXPECT_EQ(first.at("format"), "rlflow.gc/1");
  EXPECT_EQ(first.at("dry_run"), true);
  EXPECT_GT(first.at("artifacts").size(), 5u);
  EXPECT_EQ(json_of(run({"gc", "thin", "--before", "3", "--dry-run", "--json"})), first);
  must({"replay", "thin", "--task", "r:2"});
}

TEST_F(GcVerb, WhatWentCannotBeReplayedOrExportedAndTheRunGoesOn) {
  ProcessResult result = run({"gc", "thin", "--before", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("runs/thin  threw away "), std::string::npos) << result.out;
  must({"fsck", "thin", "--deep"});
  ProcessResult replay = run({"replay", "thin", "--task", "r:2"});
  EXPECT_EQ(replay.exit_code, 2);
  EXPECT_NE(replay.err.find("output 0 of `traj:2` was thrown away by `gc`"), std::string::npos) << replay.err;
  ProcessResult old = run({"export", "thin", "--model", "policy", "--version", "2", "-o", "old"});
  EXPECT_EQ(old.exit_code, 2);
  EXPECT_NE(old.err.find("error[R0216]"), std::string::npos) << old.err;
  must({"export", "thin", "--model", "policy", "-o", "newest"});
  must({"resume", "thin", "-s", "stop=4"});
  must({"replay", "thin", "--task", "step:4"});
}

TEST_F(GcVerb, ARunInUseIsRefused) {
  PosixFiles files;
  auto lock = files.lock(run_dir("thin") + "/lock");
  ProcessResult result = run({"gc", "thin", "--dry-run"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.err.find("in use by process " + std::to_string(getpid())), std::string::npos) << result.err;
}

}  // namespace
}  // namespace rlflow::testing
