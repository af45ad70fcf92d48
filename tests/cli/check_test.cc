// What does `check` say and change: its JSON, its corrections, its lints, its exit codes?
#include <gtest/gtest.h>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

class Check : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { write_file(folder_.path() + "/" + name, text); }
  ProcessResult check(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), "check");
    return rlflow(arguments, folder_.path(), input);
  }
  ScratchFolder folder_{"check"};
};

TEST_F(Check, ARightProgramIsMetWithSilence) {
  write("p.rlflow", kTinyProgram);
  ProcessResult result = check({"p.rlflow"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST_F(Check, VerboseSaysWhatWasFoundRight) {
  write("p.rlflow", kTinyProgram);
  ProcessResult result = check({"-v", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 0);
  // batch, traj, r, adv, step; `refl` is removed by `when`.
  EXPECT_TRUE(result.out.starts_with("p.rlflow: ok, flow `grpo` of 5 nodes")) << result.out;
}

TEST_F(Check, JsonHasTheDocumentedFields) {
  write("p.rlflow", spoilt("rollout(sampler", "rolout(sampler"));
  json object = json_of(check({"--json", "p.rlflow"}));
  EXPECT_EQ(object.at("format"), "rlflow.diag/1");
  EXPECT_EQ(object.at("ok"), false);
  EXPECT_EQ(object.at("errors"), 1);
  EXPECT_TRUE(object.at("warnings").is_number());
  EXPECT_EQ(object.at("diagnostics").size(),
            object.at("errors").get<std::size_t>() + object.at("warnings").get<std::size_t>());
  json error;
  for (const json& diagnostic : object.at("diagnostics")) {
    if (diagnostic.at("level") == "error") error = diagnostic;
  }
  EXPECT_EQ(error.at("message"), "there is no node `rolout`");
  const json span = {{"file", "p.rlflow"},
                     {"start", {{"line", 11}, {"col", 11}, {"byte", kTinyProgram.find("rollout")}}},
                     {"end", {{"line", 11}, {"col", 17}, {"byte", kTinyProgram.find("rollout") + 6}}}};
  EXPECT_EQ(error.at("primary"), span);
  EXPECT_TRUE(error.at("labels").is_array());
  EXPECT_TRUE(error.at("notes").is_array());
  EXPECT_TRUE(error.at("values").is_object());
  ASSERT_EQ(error.at("fixes").size(), 1u);
  const json& fix = error.at("fixes")[0];
  EXPECT_EQ(fix.at("title"), "did you mean `rollout`?");
  EXPECT_EQ(fix.at("applicability"), "likely");
  EXPECT_EQ(fix.at("edits"), json::array({{{"span", span}, {"text", "rollout"}}}));
  EXPECT_TRUE(error.at("rendered").get<std::string>().starts_with("error[E0204]: there is no node `rolout`\n"));
}

TEST_F(Check, JsonOfARightProgramIsOk) {
  write("p.rlflow", kTinyProgram);
  ProcessResult result = check({"--json", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 0);
  json object = json_of(result);
  EXPECT_EQ(object.at("ok"), true);
  EXPECT_EQ(object.at("errors"), 0);
}

TEST_F(Check, SeveralFilesGiveOneJsonObjectAndTheWorstExitCode) {
  write("right.rlflow", kTinyProgram);
  write("wrong.rlflow", spoilt("n=2", "n=1"));
  ProcessResult one = check({"--json", "right.rlflow", "wrong.rlflow"});
  EXPECT_EQ(one.exit_code, 1);
  EXPECT_EQ(json_of(one).at("errors"), 1);
  EXPECT_EQ(check({"right.rlflow", "wrong.rlflow", "absent.rlflow"}).exit_code, 2);
}

TEST_F(Check, ReadsTheStandardInput) {
  ProcessResult result = check({"-"}, spoilt("n=2", "n=1"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("<standard input>:11:37"), std::string::npos) << result.err;
}

TEST_F(Check, FixMakesSafeCorrectionsInTheFile) {
  write("p.rlflow", kTinyProgram.substr(kTinyProgram.find('\n') + 1));  // without `rlflow 1`
  EXPECT_EQ(check({"p.rlflow"}).exit_code, 1);
  ProcessResult fixed = check({"--fix", "p.rlflow"});
  EXPECT_EQ(fixed.exit_code, 0) << fixed.err;
  EXPECT_EQ(read_file(folder_.path() + "/p.rlflow"), kTinyProgram);
}

TEST_F(Check, FixLeavesGuessesAlone) {
  std::string text = spoilt("rollout(sampler", "rolout(sampler");
  write("p.rlflow", text);
  EXPECT_EQ(check({"--fix", "p.rlflow"}).exit_code, 1);
  EXPECT_EQ(read_file(folder_.path() + "/p.rlflow"), text);
}

TEST_F(Check, ALintCanBeDeniedAndAllowed) {
  write("p.rlflow", spoilt("stop after 3", "spare = logprob(policy, traj)\n  stop after 3"));
  EXPECT_EQ(check({"p.rlflow"}).exit_code, 0);
  ProcessResult denied = check({"-W", "unused-node=deny", "p.rlflow"});
  EXPECT_EQ(denied.exit_code, 1);
  EXPECT_NE(denied.err.find("error[W0701]"), std::string::npos) << denied.err;
  ProcessResult allowed = check({"-W", "unused-node=allow", "p.rlflow"});
  EXPECT_EQ(allowed.exit_code, 0);
  EXPECT_EQ(allowed.err.find("W0701"), std::string::npos) << allowed.err;
}

TEST_F(Check, AnOverrideCountsAsWritten) {
  write("p.rlflow", kTinyProgram);
  ProcessResult result = check({"-s", "traj.n=1", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("error[E0305]"), std::string::npos) << result.err;
}

TEST_F(Check, ACommentAboveALineAllowsItsLint) {
  write("p.rlflow",
        spoilt("stop after 3", "# rlflow: allow(unused-node)\n  spare = logprob(policy, traj)\n  stop after 3"));
  ProcessResult allowed = check({"-W", "unused-node=deny", "p.rlflow"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
  write("q.rlflow",
        spoilt("stop after 3", "# rlflow: allow(unused-param)\n  spare = logprob(policy, traj)\n  stop after 3"));
  EXPECT_EQ(check({"-W", "unused-node=deny", "q.rlflow"}).exit_code, 1);
}

TEST_F(Check, AnUnknownLintOrLevelIsRefused) {
  write("p.rlflow", kTinyProgram);
  ProcessResult name = check({"-W", "unused-nod=deny", "p.rlflow"});
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_NE(name.err.find("there is no lint `unused-nod`; did you mean `unused-node`"), std::string::npos) << name.err;
  ProcessResult level = check({"-W", "unused-node=error", "p.rlflow"});
  EXPECT_EQ(level.exit_code, 2);
  EXPECT_NE(level.err.find("a lint needs a level: unused-node=allow"), std::string::npos) << level.err;
}

// `script` gives the program a terminal of its own.
class CheckInATerminal : public Check {
 protected:
  void SetUp() override {
    std::string text = "rlflow 1\n";
    for (int i = 0; i < 30; ++i) text += "param a" + std::to_string(i) + " : int = 1.5\n";
    write("p.rlflow", text);
  }
  std::string on_terminal(const std::string& arguments, std::map<std::string, std::string> environment) {
    ProcessOptions options;
    options.folder = folder_.path();
    options.environment = std::move(environment);
    return run_process({"script", "-qec", std::string(RLFLOW_BINARY_DIR) + "/rlflow check " + arguments, "/dev/null"},
                       options)
        .out;
  }
};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(CheckInATerminal, ShowsTwentyMessagesInColourAndCountsTheRest) {
  std::string shown = on_terminal("p.rlflow", {{"TERM", "xterm"}, {"NO_COLOR", ""}});
  EXPECT_EQ(count_of(shown, "E0214"), 20u) << shown;
  EXPECT_NE(shown.find("and 10 more"), std::string::npos) << shown;
  EXPECT_NE(shown.find("30 errors"), std::string::npos) << shown;
  EXPECT_NE(shown.find("\x1B[1;31m"), std::string::npos) << shown;
}

TEST_F(CheckInATerminal, NoColorAndADumbTerminalStayPlain) {
  std::string plain = on_terminal("p.rlflow", {{"TERM", "xterm"}, {"NO_COLOR", "1"}});
  EXPECT_EQ(count_of(plain, "E0214"), 20u) << plain;
  EXPECT_EQ(plain.find('\x1B'), std::string::npos) << plain;
  EXPECT_EQ(on_terminal("p.rlflow", {{"TERM", "dumb"}, {"NO_COLOR", ""}}).find('\x1B'), std::string::npos);
  EXPECT_NE(on_terminal("--color=always p.rlflow", {{"TERM", "dumb"}, {"NO_COLOR", ""}}).find('\x1B'),
            std::string::npos);
}

TEST_F(CheckInATerminal, APipeGetsAllMessages) { EXPECT_EQ(count_of(check({"p.rlflow"}).err, "E0214"), 30u); }

TEST_F(Check, ColourOnlyWhereItIsAskedFor) {
  write("p.rlflow", spoilt("n=2", "n=1"));
  EXPECT_EQ(check({"p.rlflow"}).err.find('\x1B'), std::string::npos);
  EXPECT_NE(check({"--color=always", "p.rlflow"}).err.find('\x1B'), std::string::npos);
}

}  // namespace
}  // namespace rlflow::testing
