// Does a training run whose disk fills up stop with the right exit code, and go on to the same bits after that?
#include <gtest/gtest.h>

#include "tests/end_to_end/run_inspection.h"
#include "tests/support/mounted_disk.h"

namespace rlflow::testing {
namespace {

TEST(FullDisk, StopsATrainingRunThatResumesToTheSameBits) {
  MountedDisk disk(MountedDisk::Kind::tmpfs, 48 << 20);
  if (!disk.why_not().empty()) GTEST_SKIP() << disk.why_not();
  ScratchFolder elsewhere("full-disk");
  ASSERT_EQ(rlflow(small_grpo(elsewhere.path(), "run", 6)).exit_code, 0);
  RunFacts whole = facts_of(elsewhere.path() + "/run");

  // Room for the birth and some steps, not for the checkpoint at the end.
  disk.fill_but(1 << 20);
  ProcessResult stopped = rlflow(small_grpo(disk.path(), "run", 6));
  EXPECT_EQ(stopped.exit_code, 3) << stopped.out << stopped.err;
  EXPECT_NE(stopped.err.find("error[R0206]"), std::string::npos) << stopped.err;
  EXPECT_NE(stopped.err.find(disk.path() + "/run"), std::string::npos) << stopped.err;
  EXPECT_NE(stopped.err.find("space"), std::string::npos) << stopped.err;
  std::printf("it stopped with: %s", stopped.err.c_str());

  disk.remove_filling();
  ProcessResult resumed = rlflow({"resume", "run", "--plain", "--runs-dir", disk.path()});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
  EXPECT_EQ(first_difference(facts_of(disk.path() + "/run"), whole), "");
  EXPECT_EQ(damage_of(disk.path() + "/run"), "");
}

}  // namespace
}  // namespace rlflow::testing
