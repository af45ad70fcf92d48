// Does `fsck` find each kind of damage, and call nothing else damage?
#include <unistd.h>

#include "runtime/store/file_layer.h"
#include "tests/cli/tiny_runs.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class FsckVerb : public TinyRuns<FsckVerb> {
 public:
  static void make_runs() { must({"run", "p.rlflow", "--name", "one"}); }

 protected:
  // A copy of the run, to be spoilt.
  void SetUp() override { copy_run("one", "spoilt"); }
  void expect_damaged(const std::string& part, bool deep = false) {
    ProcessResult result = run({"fsck", "spoilt", "--json", deep ? "--deep" : "--color=auto"});
    EXPECT_EQ(result.exit_code, 4) << result.out << result.err;
    json object = json_of(result);
    EXPECT_EQ(object.at("sound"), false);
    ASSERT_FALSE(object.at("problems").empty());
    EXPECT_NE(object.at("problems")[0].get<std::string>().find(part), std::string::npos) << object.at("problems")[0];
  }
};

TEST_F(FsckVerb, AFinishedRunIsSound) {
  ProcessResult result = run({"fsck", "one", "--deep"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("runs/one  sound: "), std::string::npos) << result.out;
  json object = json_of(run({"fsck", "@last", "--json"}));
  EXPECT_EQ(object.at("format"), "rlflow.fsck/1");
  EXPECT_EQ(object.at("sound"), true);
  EXPECT_EQ(object.at("leftovers"), json::array());
  EXPECT_EQ(object.at("strays"), json::array());
  EXPECT_EQ(object.at("notes"), json::array());
  EXPECT_EQ(object.at("keys"), 18);  // five tasks and a version a step
}

TEST_F(FsckVerb, MapsNeitherTorchNorTbb) {
  const std::vector<std::vector<std::string>> commands = {{"fsck", "one"},
                                                          {"gc", "one", "--dry-run"},
                                                          {"why", "one", "r:2"},
                                                          {"diff", "one", "one"},
                                                          {"resume", "one", "--dry-run"},
                                                          {"show", "one"},
                                                          {"runs"}};
  for (const auto& command : commands) {
    ProcessResult result = rlflow(command, folder_->path(), "", {{"LD_DEBUG", "files"}});
    EXPECT_NE(result.err.find("libsqlite3"), std::string::npos) << "the loader said nothing";
    for (const char* library : {"libtorch", "libc10", "libtbb", "librlflow_run"}) {
      EXPECT_EQ(result.err.find(library), std::string::npos) << command.front() << " maps " << library;
    }
  }
}

TEST_F(FsckVerb, AnUnknownRunExitsTwo) { EXPECT_EQ(run({"fsck", "absent"}).exit_code, 2); }

TEST_F(FsckVerb, AMissingAndATruncatedArtifact) {
  const std::string file = artifact_of("spoilt", "traj", 2);
  fs::resize_file(file, fs::file_size(file) - 1);
  expect_damaged(file.substr(file.rfind('/') + 1));
  fs::remove(file);
  expect_damaged("is missing");
}

TEST_F(FsckVerb, AFlippedBitOfAnArtifactNeedsDeep) {
  const std::string file = artifact_of("spoilt", "traj", 2);
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(file, bytes);
  EXPECT_EQ(run({"fsck", "spoilt"}).exit_code, 0);
  expect_damaged("have the SHA-256", true);
}

TEST_F(FsckVerb, AChangedRow) {
  change_outside("spoilt", "UPDATE run SET seed=8");
  expect_damaged("is damaged: page 2 is not what was written there");
}

// Even where the pages have their sums: the key of the task that reads shows a change.
TEST_F(FsckVerb, AnEdgeToAnotherStep) {
  open("spoilt").execute(
      "UPDATE edges SET src=(SELECT id FROM tasks WHERE node='traj' AND step=1) "
      "WHERE dst=(SELECT id FROM tasks WHERE node='r' AND step=2)");
  expect_damaged("task `r:2` has another key");
}

TEST_F(FsckVerb, ADatabaseThatIsNone) {
  write_file(run_dir("spoilt") + "/state.db", std::string(4096, 'x'));
  fs::remove(run_dir("spoilt") + "/state.db-wal");
  ProcessResult result = run({"fsck", "runs/spoilt", "--json"});
  EXPECT_EQ(result.exit_code, 4) << result.out << result.err;
  EXPECT_EQ(json_of(result).at("sound"), false);
}

TEST_F(FsckVerb, AStoreOfANewerProgramExitsFour) {
  open("spoilt").execute("PRAGMA user_version=999");
  ProcessResult result = run({"fsck", "spoilt"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.err.find("error[R0204]"), std::string::npos) << result.err;
}

TEST_F(FsckVerb, LeftoversAndStraysAreNoDamage) {
  write_file(run_dir("spoilt") + "/tmp/99-0", "half");
  write_file(run_dir("spoilt") + "/notes.txt", "mine");
  ProcessResult result = run({"fsck", "spoilt", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json_of(result).at("leftovers"), json({"runs/spoilt/tmp/99-0"}));
  EXPECT_EQ(json_of(result).at("strays"), json({"runs/spoilt/notes.txt"}));
}

// The copy of the program is for people, but it must be the one that ran.
TEST_F(FsckVerb, AnEditedCopyOfTheProgramNeedsDeep) {
  write_file(run_dir("spoilt") + "/program/0-p.rlflow", "rlflow 1\n");
  expect_damaged("is not the program as it is recorded", true);
}

TEST_F(FsckVerb, ARunThatIsHeldIsCheckedAndSaidToBeHeld) {
  PosixFiles files;
  auto lock = files.lock(run_dir("spoilt") + "/lock");
  ProcessResult result = run({"fsck", "spoilt", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json_of(result).at("holder_pid"), static_cast<std::int64_t>(getpid()));
}

}  // namespace
}  // namespace rlflow::testing
