// Does each exit code of docs/recovery.md come where the table says, through the program?
#include "runtime/store/file_layer.h"
#include "tests/cli/tiny_runs.h"

namespace rlflow::testing {
namespace {

namespace fs = std::filesystem;

class ExitCodes : public TinyRuns<ExitCodes> {
 public:
  static void make_runs() { must({"run", "p.rlflow", "--name", "one"}); }

 protected:
  static int code(const std::vector<std::string>& arguments) { return run(arguments).exit_code; }
};

TEST_F(ExitCodes, Zero) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"check", "p.rlflow"},
                                             {"resume", "one"},
                                             {"replay", "one", "--task", "r:1"},
                                             {"fsck", "one"},
                                             {"gc", "one", "--dry-run"},
                                             {"diff", "one", "one"},
                                             {"why", "one", "r:1"},
                                             {"show", "one"},
                                             {"runs"}}) {
    EXPECT_EQ(code(command), 0) << command.front();
  }
}

TEST_F(ExitCodes, OneIsNo) {
  write_file(path("wrong.rlflow"), spoilt("n=2", "n=1"));
  write_file(path("layout.rlflow"), spoilt("flow grpo {", "flow   grpo {"));
  EXPECT_EQ(code({"check", "wrong.rlflow"}), 1);
  EXPECT_EQ(code({"run", "wrong.rlflow"}), 1);
  EXPECT_EQ(code({"fmt", "--check", "layout.rlflow"}), 1);
  must({"run", "p.rlflow", "--name", "seeded", "--seed", "5"});
  EXPECT_EQ(code({"diff", "one", "seeded"}), 1);
}

TEST_F(ExitCodes, TwoIsNoAnswer) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"check", "absent.rlflow"},
                                             {"show", "absent"},
                                             {"resume", "absent"},
                                             {"fsck", "absent"},
                                             {"gc", "absent"},
                                             {"fork", "absent"},
                                             {"diff", "one", "absent"},
                                             {"why", "one", "x:1"},
                                             {"replay", "one", "--task", "x:1"},
                                             {"no-such-verb"}}) {
    EXPECT_EQ(code(command), 2) << command.front();
  }
}

// A judge that cannot answer: the run stops, and says what to do.
TEST_F(ExitCodes, ThreeNeedsAPerson) {
  write_file(path("judged.rlflow"), spoilt("builtin(\"exact_answer\")", "exec(\"/bin/false\")"));
  ProcessResult result = run({"run", "judged.rlflow", "--name", "judged"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find("error[R0101]"), std::string::npos) << result.err;
  EXPECT_EQ(json_of(run({"show", "judged", "--json"})).at("state"), "stopped");
}

TEST_F(ExitCodes, FourIsTheStore) {
  copy_run("one", "held");
  PosixFiles files;
  auto lock = files.lock(run_dir("held") + "/lock");
  EXPECT_EQ(code({"resume", "held", "-s", "stop=9"}), 4);
  EXPECT_EQ(code({"gc", "held"}), 4);
  EXPECT_EQ(code({"retry", "held"}), 4);
  copy_run("one", "spoilt");
  change_outside("spoilt", "UPDATE run SET seed=8");
  EXPECT_EQ(code({"resume", "spoilt", "-s", "stop=9"}), 4);
  EXPECT_EQ(code({"fsck", "spoilt"}), 4);
}

// An update past its deadline leaves weights that may be half written: a new process begins at the last version.
TEST_F(ExitCodes, FiveIsResumableAtOnceAndIsWhatRestartsActOn) {
  // Large enough to be seen before it ends.
  ProcessResult result = run({"run", "p.rlflow", "--name", "late", "-s", "batch.count=128", "-s", "traj.n=8", "-s",
                              "step.epochs=20", "-s", "stop=1", "-s", "step.timeout=1ms", "--restarts", "1"});
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_NE(result.err.find("restart 1 of 1: its process ended with exit code 5"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("is given up"), std::string::npos) << result.err;
  must({"resume", "late", "-s", "step.timeout=1h"});
  must({"fsck", "late", "--deep"});
}

}  // namespace
}  // namespace rlflow::testing
