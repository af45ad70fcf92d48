// Are unusable arguments refused with exit 2 and a hint, and does every verb explain itself?
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

const std::vector<std::string> kVerbs = {"check",  "fmt",    "plan",   "params", "graph", "explain",  "run",
                                         "resume", "replay", "export", "runs",   "show",  "generate", "model"};

class Arguments : public ::testing::Test {
 protected:
  void SetUp() override { write_file(folder_.path() + "/p.rlflow", kTinyProgram); }
  ProcessResult run(const std::vector<std::string>& arguments) { return rlflow(arguments, folder_.path()); }
  // Exit 2, nothing on the standard output, and `part` in what is said.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& part) {
    ProcessResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
  ScratchFolder folder_{"arguments"};
};

TEST_F(Arguments, AnUnknownVerbGetsTheNearest) { expect_refused({"chek", "p.rlflow"}, "did you mean `check`?"); }
TEST_F(Arguments, AnUnknownFlagGetsTheNearest) {
  expect_refused({"check", "--jsn", "p.rlflow"}, "did you mean `--json`?");
}
TEST_F(Arguments, AMissingFileNameIsSaid) { expect_refused({"check"}, "required"); }
TEST_F(Arguments, AnUnknownLintGetsTheNearest) {
  expect_refused({"check", "-W", "unused-nod=deny", "p.rlflow"}, "did you mean `unused-node`");
}
TEST_F(Arguments, AnUnknownLintLevelIsRefused) {
  expect_refused({"check", "-W", "unused-node=loud", "p.rlflow"}, "unused-node=deny");
}
TEST_F(Arguments, APictureFormatIsToldFromTheName) {
  expect_refused({"graph", "p.rlflow", "-o", "p.pdf"}, ".svg, .png or .dot");
}
TEST_F(Arguments, FixOfTheStandardInputIsRefused) { expect_refused({"check", "--fix", "-"}, "--fix"); }
TEST_F(Arguments, AFolderToWorkInMustBeThere) { expect_refused({"-C", "absent", "check", "p.rlflow"}, "absent"); }
TEST_F(Arguments, AnUnknownSubjectGetsTheNearest) { expect_refused({"explain", "rolout"}, "did you mean `rollout`?"); }
TEST_F(Arguments, AnUnknownCodeGetsTheNearest) { expect_refused({"explain", "E031"}, "`E0301`"); }
TEST_F(Arguments, AnUnknownRunIsNamed) { expect_refused({"show", "absent"}, "there is no run `absent`"); }
TEST_F(Arguments, LastOfNoRunsIsNamed) { expect_refused({"show", "@last"}, "@last"); }

TEST_F(Arguments, UnreadableProgramsExitTwoForEveryVerbThatReadsOne) {
  for (const char* verb : {"check", "fmt", "plan", "params", "graph"}) {
    expect_refused({verb, "absent.rlflow"}, "cannot read `absent.rlflow`");
    expect_refused({verb, "."}, "it is a folder");
  }
}

TEST_F(Arguments, WrongProgramsExitOneForEveryVerbThatReadsOne) {
  write_file(folder_.path() + "/wrong.rlflow", spoilt("n=2", "n=1"));
  for (const char* verb : {"check", "plan", "params", "graph"}) {
    ProcessResult result = run({verb, "wrong.rlflow"});
    EXPECT_EQ(result.exit_code, 1) << verb;
    EXPECT_NE(result.err.find("error[E0305]"), std::string::npos) << verb << ": " << result.err;
  }
}

TEST_F(Arguments, EveryVerbHasAHelpWithAnExampleThatFitsAScreen) {
  for (const std::string& verb : kVerbs) {
    ProcessResult result = run({"help", verb});
    EXPECT_EQ(result.exit_code, 0) << verb << result.err;
    EXPECT_NE(result.out.find("Usage: rlflow " + verb), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("\n  rlflow " + verb), std::string::npos) << "no example\n" << result.out;
    EXPECT_LE(std::count(result.out.begin(), result.out.end(), '\n'), 40) << verb;
    EXPECT_EQ(result.out, run({verb, "--help"}).out);
  }
}

TEST_F(Arguments, HelpListsEveryVerb) {
  ProcessResult result = run({"help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const std::string& verb : kVerbs) EXPECT_NE(result.out.find("\n  " + verb + " "), std::string::npos) << verb;
}

TEST_F(Arguments, HelpAboutAnUnknownVerbIsRefused) { expect_refused({"help", "chek"}, "did you mean `check`?"); }

TEST_F(Arguments, HelpDoesNotDependOnOtherArguments) {
  ProcessResult result = run({"run", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("--seed"), std::string::npos) << result.out;
}

TEST_F(Arguments, TheVersionIsPrinted) {
  ProcessResult result = run({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with("rlflow ")) << result.out;
}

TEST_F(Arguments, GlobalOptionsMayFollowTheVerb) {
  write_file(folder_.path() + "/inner/q.rlflow", kTinyProgram);
  EXPECT_EQ(run({"check", "-q", "-C", "inner", "q.rlflow"}).exit_code, 0);
}

// An override may hold what a command line would rather split: commas, brackets, spaces.
TEST_F(Arguments, OneOverrideIsOneArgument) {
  ProcessResult result = run({"params", "-s", "policy.optim.betas=[0.5, 0.75]", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("[0.5, 0.75]"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace rlflow::testing
