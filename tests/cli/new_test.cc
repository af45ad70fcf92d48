// Does `new` write programs that check, keep their form, and, where this version can, run?
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

const std::vector<std::string> kKinds = {"grpo", "ppo", "sft", "dpo"};

// A project whose models are those of the sources, so that the programs find models/tiny.
class New : public ::testing::Test {
 protected:
  New() {
    write_file(folder_.path() + "/rlflow.toml", "");
    std::filesystem::create_symlink(std::string(RLFLOW_SOURCE_DIR) + "/models", folder_.path() + "/models");
  }
  ProcessResult make(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "new");
    return rlflow(arguments, folder_.path());
  }
  std::string text_of(const std::string& name) {
    std::ifstream file(folder_.path() + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ScratchFolder folder_{"new"};
};

TEST_F(New, EachKindChecksWithoutErrorsAndHasTheCanonicalForm) {
  for (const std::string& kind : kKinds) {
    SCOPED_TRACE(kind);
    ASSERT_EQ(make({kind, "-o", kind + ".rlflow"}).exit_code, 0);
    ProcessResult checked = rlflow({"check", "--json", kind + ".rlflow"}, folder_.path());
    EXPECT_EQ(checked.exit_code, 0) << checked.out;
    for (const json& diagnostic : json_of(checked).at("diagnostics"))
      EXPECT_EQ(diagnostic.at("code"), "E0604") << diagnostic.at("rendered");  // dpo's own pairs
    EXPECT_EQ(rlflow({"fmt", "--check", kind + ".rlflow"}, folder_.path()).exit_code, 0);
    EXPECT_NE(text_of(kind + ".rlflow").find("# "), std::string::npos);
  }
}

TEST_F(New, WithoutAFileTheProgramIsPrinted) {
  ProcessResult printed = make({"grpo"});
  ASSERT_EQ(make({"grpo", "-o", "a.rlflow"}).exit_code, 0);
  EXPECT_EQ(printed.out, text_of("a.rlflow"));
}

TEST_F(New, AFileThatExistsIsKept) {
  write_file(folder_.path() + "/mine.rlflow", "rlflow 1\n");
  ProcessResult result = make({"sft", "-o", "mine.rlflow"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("`mine.rlflow` exists already"), std::string::npos) << result.err;
  EXPECT_EQ(text_of("mine.rlflow"), "rlflow 1\n");
  EXPECT_EQ(make({"sft", "-o", "mine.rlflow", "--force"}).exit_code, 0);
  EXPECT_NE(text_of("mine.rlflow"), "rlflow 1\n");
}

TEST_F(New, AnUnknownKindIsRefusedWithTheNearest) {
  ProcessResult result = make({"grop", "-o", "x.rlflow"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("there is no program `grop`; did you mean `grpo`?"), std::string::npos) << result.err;
  EXPECT_EQ(text_of("x.rlflow"), "");
}

TEST_F(New, AFolderThatIsNotThereIsSaidWithItsName) {
  ProcessResult result = make({"sft", "-o", "nowhere/x.rlflow"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("nowhere/x.rlflow"), std::string::npos) << result.err;
}

TEST_F(New, WhatIsMissingWhereTheFileStandsIsSaidAtOnce) {
  ProcessResult result = make({"dpo", "-o", "dpo.rlflow"});
  EXPECT_NE(result.err.find("there is no data file `data/pairs.jsonl`"), std::string::npos) << result.err;
  json object = json_of(make({"dpo", "-o", "dpo.rlflow", "--force", "--json"}));
  EXPECT_EQ(object.at("format"), "rlflow.new/1");
  EXPECT_EQ(object.at("diagnostics").at(0).at("code"), "E0604");
}

}  // namespace
}  // namespace rlflow::testing
