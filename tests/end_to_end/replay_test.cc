// Does every kind of task of a past run prove itself again, and is a changed input refused?
#include <gtest/gtest.h>

#include <fstream>

#include "tests/end_to_end/run_inspection.h"

namespace rlflow::testing {
namespace {

class Replay : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runs_ = new ScratchFolder("replay");
    ProcessResult result = rlflow(small_grpo(runs_->path(), "kl", 6, {"-s", "kl=0.02"}));
    ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  }
  static void TearDownTestSuite() { delete runs_; }
  static ProcessResult replay(const std::string& run, const std::string& task) {
    return rlflow({"replay", run, "--task", task, "--runs-dir", runs_->path()});
  }
  static ScratchFolder* runs_;  // one run for all cases: it is only read
};
ScratchFolder* Replay::runs_ = nullptr;

TEST_F(Replay, EveryKindOfTaskIsIdentical) {
  for (const char* task : {"batch:5", "traj:5", "r:5", "refl:5", "adv:5", "step:5", "traj:1", "step:6", "acc:6"}) {
    ProcessResult result = replay("kl", task);
    EXPECT_EQ(result.exit_code, 0) << task << "\n" << result.out << result.err;
    EXPECT_NE(result.out.find("identical"), std::string::npos) << task << "\n" << result.out;
  }
}

TEST_F(Replay, TwoHundredTasksOfARunAreIdentical) {
  ASSERT_EQ(rlflow(small_grpo(runs_->path(), "long", 36, {"-s", "kl=0.02"})).exit_code, 0);
  ProcessResult result = rlflow({"replay", "long", "--steps", "0..36", "--runs-dir", runs_->path()});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  std::size_t identical = 0;
  for (std::size_t at = 0; (at = result.out.find("  identical\n", at)) != std::string::npos; ++at) ++identical;
  EXPECT_GE(identical, 200u);
  EXPECT_EQ(result.out.find("differs"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("cannot"), std::string::npos) << result.out;
  std::printf("%zu lines say identical\n", identical);
}

TEST_F(Replay, AnUnknownTaskCannotBeAnswered) {
  EXPECT_EQ(replay("kl", "traj:99").exit_code, 2);
  EXPECT_EQ(replay("kl", "nothing:1").exit_code, 2);
  EXPECT_EQ(replay("no_such_run", "traj:1").exit_code, 2);
}

TEST_F(Replay, AFlippedBitInAStoredInputIsRefused) {
  ASSERT_EQ(run_process({"cp", "-r", runs_->path() + "/kl", runs_->path() + "/flipped"}).exit_code, 0);
  std::string run = runs_->path() + "/flipped";
  Rows rows = query(run, "SELECT lower(hex(digest)) FROM tasks JOIN outputs ON task = id WHERE node='traj' AND step=5");
  ASSERT_EQ(rows.size(), 1u);
  std::string path = run + "/artifacts/" + rows[0][0].substr(0, 2) + "/" + rows[0][0];
  std::string bytes = read_file(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  ASSERT_EQ(run_process({"chmod", "u+w", path}).exit_code, 0);
  std::ofstream(path, std::ios::binary) << bytes;
  ProcessResult result = replay("flipped", "r:5");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(result.out.find("identical"), std::string::npos) << result.out;
  EXPECT_NE((result.out + result.err).find(rows[0][0].substr(0, 8)), std::string::npos) << result.out << result.err;
}

}  // namespace
}  // namespace rlflow::testing
