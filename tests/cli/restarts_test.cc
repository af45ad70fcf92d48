// Does `run --restarts N` start again after a lost process, only then, and hold nothing itself?
#include "tests/cli/tiny_runs.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

// A script that may use: $rlflow; `begin ARGS…` starts it in the background with its output in `out` and its pid in
// $supervisor; `at STEP` waits for a committed step; `lose` kills the process that holds the run; `again`
// waits for the next one; `end` waits and
// prints the exit code.
constexpr const char* kScript = R"sh(
set -u
begin() { "$rlflow" "$@" --plain >out 2>&1 & supervisor=$!; }
at() { for i in $(seq 600); do grep -q "^step *$1/" out && return; sleep 0.05; done; echo "no step $1"; cat out; }
lose() { holder=$(cat runs/held/lock); kill -KILL "$holder"; while kill -0 "$holder" 2>/dev/null; do sleep 0.01; done; }
again() { for i in $(seq 600); do [ "$(cat runs/held/lock)" = "$holder" ] || return;
sleep 0.05;
done;
echo "not again";
}
end() {
  wait "$supervisor";
  echo "ended $?";
}
)sh";

class Restarts : public TinyRuns<Restarts> {
 protected:
  void TearDown() override { std::filesystem::remove_all(run_dir("held")); }
  static ProcessResult script(const std::string& lines) {
    ProcessOptions options;
    options.folder = folder_->path();
    options.environment = {{"rlflow", std::string(RLFLOW_BINARY_DIR) + "/rlflow"}, {"RLFLOW_INVOKED_AS", "rlflow"}};
    return run_process({"bash", "-c", kScript + lines}, options);
  }
  static std::string log() { return read_file(path("out")); }
};

TEST_F(Restarts, AKilledRunGoesOnToTheSameBits) {
  must({"run", "p.rlflow", "--name", "whole", "-s", "stop=40"});
  ProcessResult result = script("begin run p.rlflow --name held -s stop=40 --restarts 3; at 3; lose; at 20; lose; end");
  EXPECT_EQ(result.out, "ended 0\n") << log();
  EXPECT_NE(log().find("restart 1 of 3: its process was killed by signal 9"), std::string::npos) << log();
  EXPECT_NE(log().find("restart 2 of 3: "), std::string::npos) << log();
  EXPECT_EQ(json_of(run({"diff", "whole", "held", "--json"})).at("first_divergence"), nullptr);
  must({"fsck", "held", "--deep"});
}

TEST_F(Restarts, TheSupervisorHoldsNeitherStoreNorLibrary) {
  ProcessResult result = script(
      "begin run p.rlflow --name held -s stop=100000 --restarts 1; at 3;"
      "grep -cE 'torch|rlflow_run|tbb' /proc/$supervisor/maps; ls -l /proc/$supervisor/fd | grep -c held;"
      "kill -TERM $supervisor; end");
  EXPECT_EQ(result.out, "0\n0\nended 143\n") << log();
}

TEST_F(Restarts, ASignalPausesOnceAndStartsNothing) {
  ProcessResult result =
      script("begin run p.rlflow --name held -s stop=100000 --restarts 5; at 3; kill -INT $supervisor; end");
  EXPECT_EQ(result.out, "ended 130\n") << log();
  EXPECT_EQ(log().find("restart"), std::string::npos) << log();
  EXPECT_EQ(json_of(run({"show", "held", "--json"})).at("state"), "paused");
}

TEST_F(Restarts, AreCountedAndGivenUp) {
  ProcessResult result =
      script("begin run p.rlflow --name held -s stop=100000 --restarts 1; at 3; lose; again; lose; end");
  EXPECT_EQ(result.out, "ended 137\n") << log();
  EXPECT_NE(log().find("was restarted 1 time and is given up"), std::string::npos) << log();
  must({"resume", "held", "-s", "stop=1"});
}

TEST_F(Restarts, AnErrorIsNoLoss) {
  write_file(path("wrong.rlflow"), spoilt("n=2", "n=1"));
  EXPECT_EQ(run({"run", "wrong.rlflow", "--restarts", "3"}).exit_code, 1);
  EXPECT_EQ(run({"run", "absent.rlflow", "--restarts", "3"}).exit_code, 2);
  must({"run", "p.rlflow", "--restarts", "3", "-s", "stop=1"});
}

TEST_F(Restarts, AResumeIsSupervisedToo) {
  must({"run", "p.rlflow", "--name", "held"});
  ProcessResult result = script("begin resume held -s stop=40 --restarts 1; at 6; lose; end");
  EXPECT_EQ(result.out, "ended 0\n") << log();
  EXPECT_EQ(json_of(run({"show", "held", "--json"})).at("committed"), 40);
}

// The child is not left behind: it pauses when the supervisor is killed.
TEST_F(Restarts, AKilledSupervisorLeavesAPausedRun) {
  ProcessResult result = script(
      "begin run p.rlflow --name held -s stop=100000 --restarts 5; at 3; holder=$(cat runs/held/lock);"
      "kill -KILL $supervisor; for i in $(seq 300); do kill -0 $holder 2>/dev/null || break; sleep 0.05; done; end");
  EXPECT_EQ(result.out, "ended 137\n") << log();
  EXPECT_EQ(json_of(run({"show", "held", "--json"})).at("state"), "paused");
}

}  // namespace
}  // namespace rlflow::testing
