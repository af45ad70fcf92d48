// Does a run that is killed at random moments and resumed end in the same bits as one that was left alone?
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <random>

#include "tests/end_to_end/run_inspection.h"

namespace rlflow::testing {
namespace {

constexpr int kSteps = 24;
constexpr int kKills = 24;

bool exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

// A killed run leaves no directory, one without a database yet (start again), or one to resume.
std::vector<std::string> next_command(const std::string& runs_dir) {
  if (exists(runs_dir + "/killed/state.db")) return {"resume", "killed", "--plain", "--runs-dir", runs_dir};
  return small_grpo(runs_dir, "killed", kSteps);
}

TEST(Kill, TwentyFourRandomKillsLeaveTheSameBits) {
  ScratchFolder runs("kill");
  ProcessResult quiet = rlflow(small_grpo(runs.path(), "quiet", kSteps));
  ASSERT_EQ(quiet.exit_code, 0) << quiet.err;

  std::mt19937 random(20261130);
  int killed = 0;
  int finished = 0;
  ProcessResult last;
  for (int attempt = 0; attempt < 400 && killed < kKills; ++attempt) {
    ProcessOptions options;
    // Two of three while it works, one of three at any time of its start.
    if (random() % 3 != 0) options.kill_when = "run ";
    options.kill_after = std::chrono::milliseconds(random() % 1200);
    last = rlflow(next_command(runs.path()), options);
    if (last.signal == SIGKILL) {
      ++killed;
      continue;
    }
    ASSERT_EQ(last.exit_code, 0) << last.err << last.out;
    // It ended before the kill: compare, and begin a new one.
    ++finished;
    EXPECT_EQ(weights_by_version(runs.path() + "/quiet", "policy"),
              weights_by_version(runs.path() + "/killed", "policy"));
    EXPECT_EQ(outputs_by_task(runs.path() + "/quiet"), outputs_by_task(runs.path() + "/killed"));
    ASSERT_EQ(run_process({"rm", "-rf", runs.path() + "/killed"}).exit_code, 0);
  }
  EXPECT_EQ(killed, kKills);
  last = rlflow(next_command(runs.path()));
  ASSERT_EQ(last.exit_code, 0) << last.err << last.out;
  auto weights = weights_by_version(runs.path() + "/quiet", "policy");
  EXPECT_EQ(weights.size(), kSteps + 1u);
  EXPECT_EQ(weights, weights_by_version(runs.path() + "/killed", "policy"));
  EXPECT_EQ(outputs_by_task(runs.path() + "/quiet"), outputs_by_task(runs.path() + "/killed"));
  std::string same_metrics =
      "SELECT step, node, name, value FROM metrics WHERE name NOT LIKE 'time/%' "
      "AND name NOT LIKE '%per_second' ORDER BY 1, 2, 3";
  EXPECT_EQ(query(runs.path() + "/quiet", same_metrics), query(runs.path() + "/killed", same_metrics));
  RecordProperty("finished_between_kills", finished);
}

TEST(Kill, ControlCPausesAndResumeGoesOn) {
  ScratchFolder runs("pause");
  ProcessOptions options;
  options.signal = SIGINT;
  options.signal_when = "2/8";  // the line of the second step
  ProcessResult paused = rlflow(small_grpo(runs.path(), "paused", 8), options);
  EXPECT_EQ(paused.exit_code, 130) << paused.err << paused.out;
  EXPECT_NE((paused.out + paused.err).find("resume"), std::string::npos);
  EXPECT_EQ(query(runs.path() + "/paused", "SELECT state FROM run"), (Rows{{"paused"}}));
  ProcessResult resumed = rlflow({"resume", "paused", "--plain", "--runs-dir", runs.path()});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  ASSERT_EQ(rlflow(small_grpo(runs.path(), "quiet", 8)).exit_code, 0);
  EXPECT_EQ(weights_by_version(runs.path() + "/quiet", "policy"),
            weights_by_version(runs.path() + "/paused", "policy"));
}

TEST(Kill, ResumeOfAFinishedRunChangesNothing) {
  ScratchFolder runs("finished");
  ASSERT_EQ(rlflow(small_grpo(runs.path(), "done", 3)).exit_code, 0);
  auto before = outputs_by_task(runs.path() + "/done");
  ProcessResult again = rlflow({"resume", "done", "--plain", "--runs-dir", runs.path()});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(before, outputs_by_task(runs.path() + "/done"));
}

}  // namespace
}  // namespace rlflow::testing
