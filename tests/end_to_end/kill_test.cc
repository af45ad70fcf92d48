// Does a run that is killed at random moments and resumed end in the same bits as one that was left alone?
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>

#include "tests/end_to_end/run_inspection.h"
#include "tests/support/test_size.h"

namespace rlflow::testing {
namespace {

constexpr int kSteps = 24;

bool exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

// What is killed: a program and what is changed of it.
struct Victim {
  std::string name;
  std::string program;
  std::vector<std::string> settings;
  int kills = 0;
};
void PrintTo(const Victim& victim, std::ostream* out) { *out << victim.name; }

// Steps of a tenth of a second: most of a process's life is its start and its recovery.
std::vector<std::string> killed_run(const Victim& victim, const std::string& runs_dir, const std::string& name) {
  std::vector<std::string> arguments = {"run", victim.program, "--plain", "--runs-dir", runs_dir, "--name", name};
  std::vector<std::string> settings = {"batch.count=4", "traj.n=4", "traj.max_new=16", "acc.max_new=16", "test.size=8"};
  settings.insert(settings.end(), victim.settings.begin(), victim.settings.end());
  settings.push_back("steps=" + std::to_string(kSteps));
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"-s", setting});
  return arguments;
}

// A killed run leaves no directory, one without a database yet (start again), or one to resume.
std::vector<std::string> next_command(const Victim& victim, const std::string& runs_dir) {
  if (exists(runs_dir + "/killed/state.db")) return {"resume", "killed", "--plain", "--runs-dir", runs_dir};
  return killed_run(victim, runs_dir, "killed");
}

// The newest step that a process told its user of; -1 if none.
std::int64_t told_step(const std::string& out) {
  const std::string mark = "\nstep ";
  std::size_t last = out.rfind(mark);
  // Cut off in the middle of a line it was not told whole.
  if (last == std::string::npos || out.find('\n', last + 1) == std::string::npos) return -1;
  return std::stoll(out.substr(last + mark.size()));
}

// Kills one run after another, each many times, and compares every one that comes to its end with `whole`.
class Killer {
 public:
  Killer(const Victim& victim, std::string runs_dir, RunFacts whole)
      : victim_(victim), runs_dir_(std::move(runs_dir)), whole_(std::move(whole)) {}

  // One process, killed at a random moment if it lives that long.
  void live_once() {
    ProcessOptions options;
    // Two of three while it recovers or works, one of three at any time of its start.
    if (random_() % 3 != 0) options.kill_when = "run ";
    options.kill_after = std::chrono::microseconds(random_() % 1000000);
    ProcessResult result = rlflow(next_command(victim_, runs_dir_), options);
    std::string run = runs_dir_ + "/killed";
    if (result.signal == SIGKILL) {
      ++killed;
      if (result.out.empty()) ++killed_in_start;
      if (exists(run + "/state.db")) look_at_killed(run, told_step(result.out));
      return;
    }
    ++ended;
    if (result.exit_code != 0) fail("it ended with " + std::to_string(result.exit_code) + ": " + result.err);
    std::string difference = first_difference(facts_of(run), whole_);
    if (!difference.empty()) fail("at its end: " + difference);
    std::string damage = damage_of(run);
    if (!damage.empty()) fail("fsck: " + damage);
    std::filesystem::remove_all(run);
    committed_ = -1;
  }

  int killed = 0;
  int killed_in_start = 0;  // before anything was told
  int ended = 0;
  int failures = 0;

 private:
  void fail(const std::string& what) {
    ++failures;
    ADD_FAILURE() << "after kill " << killed << ": " << what;
  }
  // What is recorded is part of the whole run, and neither what was recorded before nor what was told is lost.
  void look_at_killed(const std::string& run, std::int64_t told) {
    std::int64_t committed = std::stoll(query(run, "SELECT coalesce(max(step),-1) FROM steps").at(0).at(0));
    if (committed < std::max(told, committed_)) {
      fail("step " + std::to_string(std::max(told, committed_)) + " is lost: the last is " + std::to_string(committed));
    }
    committed_ = committed;
    for (const auto& [name, value] : facts_of(run)) {
      auto found = whole_.find(name);
      if (found == whole_.end() || found->second != value) fail(name + " is `" + value + "` in the killed run");
    }
  }

  const Victim& victim_;
  std::string runs_dir_;
  RunFacts whole_;
  std::int64_t committed_ = -1;
  std::mt19937 random_{20261130};
};

class RandomKill : public ::testing::TestWithParam<Victim> {};

TEST_P(RandomKill, LeavesTheSameBits) {
  const Victim& victim = GetParam();
  ScratchFolder runs("kill-" + victim.name);
  ProcessResult quiet = rlflow(killed_run(victim, runs.path(), "quiet"));
  ASSERT_EQ(quiet.exit_code, 0) << quiet.err;
  RunFacts whole = facts_of(runs.path() + "/quiet");
  ASSERT_EQ(weights_by_version(runs.path() + "/quiet", "policy").size(), kSteps + 1u);

  Killer killer(victim, runs.path(), whole);
  const int kills = long_size() ? 25 * victim.kills : victim.kills;
  for (int process = 0; process < 10 * kills && killer.killed < kills && killer.failures == 0; ++process) {
    killer.live_once();
  }
  // The last one may end in peace.
  for (int ended = killer.ended, process = 0; killer.ended == ended && process < 100; ++process) killer.live_once();
  std::printf("%s: %d kills, %d of them before a first line, %d runs ended, %d failures\n", victim.name.c_str(),
              killer.killed, killer.killed_in_start, killer.ended, killer.failures);
  EXPECT_GE(killer.killed, kills);
  EXPECT_GE(killer.ended, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, RandomKill,
    ::testing::Values(Victim{"tiny", "pipelines/tiny_grpo.rlflow", {}, 40},
                      Victim{"adapters", "pipelines/lora_grpo.rlflow", {"kl=0.02"}, 16},
                      Victim{
                          "bf16", "pipelines/tiny_grpo.rlflow", {"policy.dtype=bf16", "ref.dtype=bf16", "kl=0.02"}, 12},
                      Victim{"copies", "pipelines/lora_grpo.rlflow", {"sampler.dtype=bf16"}, 8}),
    [](const auto& victim) { return victim.param.name; });

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
