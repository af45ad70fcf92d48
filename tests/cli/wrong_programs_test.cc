// Does each mistake get the right code at the right place, and exit 1?
#include <gtest/gtest.h>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

struct Mistake {
  const char* name;
  std::string text;
  const char* code;
  int line;
  int column;
  const char* help;  // part of what the message advises; empty where it is not looked at
};

std::vector<Mistake> mistakes() {
  return {
      {"misspelt_node", spoilt("rollout(sampler", "rolout(sampler"), "E0204", 11, 11, "did you mean `rollout`?"},
      {"misspelt_setting", spoilt("estimator = grpo", "estimatr = grpo"), "E0308", 13, 26, "did you mean `estimator`?"},
      {"misspelt_model", spoilt("update(policy", "update(polcy"), "E0201", 15, 18, "did you mean `policy`?"},
      {"wrong_kind", spoilt("advantage(r)", "advantage(traj)"), "E0301", 13, 21, "advantage(r)"},
      {"missing_sync", spoilt("  sync policy -> sampler every 1 step lag 0\n", ""), "E0411", 6, 9,
       "sync policy -> sampler every 1 step lag 0"},
      {"group_of_one", spoilt("n=2", "n=1"), "E0305", 11, 37, ""},
      {"unknown_reward", spoilt("exact_answer", "exact_anser"), "E0602", 8, 24, "did you mean `exact_answer`?"},
      {"unknown_data", spoilt("\"addition\"", "\"additon\""), "E0601", 7, 22, "did you mean `addition`?"},
      {"unclosed_call", spoilt("score(exact, traj)", "score(exact, traj"), "E0102", 12, 16, ""},
  };
}

std::vector<json> errors_of(const json& object) {
  std::vector<json> errors;
  for (const json& diagnostic : object.value("diagnostics", json::array())) {
    if (diagnostic.at("level") == "error") errors.push_back(diagnostic);
  }
  return errors;
}

class WrongProgram : public ::testing::TestWithParam<Mistake> {};

TEST_P(WrongProgram, IsToldWithItsCodeAndPlace) {
  const Mistake& mistake = GetParam();
  ScratchFolder folder(std::string("wrong-") + mistake.name);
  write_file(folder.path() + "/p.rlflow", mistake.text);
  ProcessResult result = rlflow({"check", "--json", "p.rlflow"}, folder.path());
  EXPECT_EQ(result.exit_code, 1) << result.err;
  std::vector<json> errors = errors_of(json_of(result));
  ASSERT_EQ(errors.size(), 1u) << result.out;
  EXPECT_EQ(errors[0].at("code"), mistake.code);
  const json& primary = errors[0].at("primary");
  EXPECT_EQ(primary.at("file"), "p.rlflow");
  EXPECT_EQ(primary.at("start").at("line"), mistake.line);
  EXPECT_EQ(primary.at("start").at("col"), mistake.column);
  EXPECT_NE(errors[0].at("rendered").get<std::string>().find(mistake.help), std::string::npos)
      << errors[0].at("rendered");
}

INSTANTIATE_TEST_SUITE_P(Each, WrongProgram, ::testing::ValuesIn(mistakes()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(WrongPrograms, TextForAPersonGoesToTheStandardErrorWithTheSourceUnderIt) {
  ScratchFolder folder("wrong-text");
  write_file(folder.path() + "/p.rlflow", spoilt("rollout(sampler", "rolout(sampler"));
  ProcessResult result = rlflow({"check", "p.rlflow"}, folder.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("error[E0204]: there is no node `rolout`\n  --> p.rlflow:11:11\n"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("11 |   traj  = rolout(sampler, batch, n=2) { max_new = 34 }\n"
                            "   |           ^^^^^^\n"),
            std::string::npos)
      << result.err;
}

TEST(WrongPrograms, AnEmptyFileIsE0106) {
  ScratchFolder folder("wrong-empty");
  write_file(folder.path() + "/p.rlflow", "");
  ProcessResult result = rlflow({"check", "p.rlflow"}, folder.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("error[E0106]"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("p.rlflow:1:1"), std::string::npos) << result.err;
}

std::string binary_bytes() {
  std::string bytes =
      "\x7F"
      "ELF\n\x1B]0;title\x07\n";
  for (int i = 0; i < 512; ++i) bytes += static_cast<char>(i % 256);
  return bytes;
}

TEST(WrongPrograms, ABinaryFileIsE0107) {
  ScratchFolder folder("wrong-binary");
  write_file(folder.path() + "/p.rlflow", binary_bytes());
  ProcessResult result = rlflow({"check", "p.rlflow"}, folder.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("error[E0107]"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("-->"), std::string::npos) << result.err;
}

TEST(WrongPrograms, ControlCharactersOfABinaryFileDoNotReachTheTerminal) {
  ScratchFolder folder("wrong-control");
  write_file(folder.path() + "/p.rlflow", "rlflow 1 \x1B]0;title\x07 \x80\n");
  ProcessResult result = rlflow({"check", "p.rlflow"}, folder.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err.find('\x1B'), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find('\x07'), std::string::npos) << result.err;
}

TEST(WrongPrograms, JsonOfABinaryFileParses) {
  ScratchFolder folder("wrong-binary-json");
  write_file(folder.path() + "/p.rlflow", binary_bytes());
  ProcessResult result = rlflow({"check", "--json", "p.rlflow"}, folder.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(errors_of(json_of(result)).at(0).at("code"), "E0107");
}

// A program cut off anywhere is wrong or right, but never ends the compiler.
TEST(WrongPrograms, NoPrefixOfAProgramCrashesCheckOrGraph) {
  ScratchFolder folder("wrong-prefix");
  for (std::size_t length = 1; length < kTinyProgram.size(); length += 23) {
    write_file(folder.path() + "/p.rlflow", kTinyProgram.substr(0, length));
    for (const char* verb : {"check", "graph"}) {
      ProcessResult result = rlflow({verb, "p.rlflow"}, folder.path());
      EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 1)
          << verb << " of " << length << " bytes: " << result.err;
    }
  }
}

TEST(WrongPrograms, MessagesAboutAnOverrideNameTheCommandLine) {
  ScratchFolder folder("wrong-override");
  write_file(folder.path() + "/p.rlflow", kTinyProgram);
  ProcessResult result = rlflow({"check", "-s", "lk=0.1", "p.rlflow"}, folder.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("error[E0203]: no parameter `lk`"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("<command line>"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("did you mean `kl`"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace rlflow::testing
