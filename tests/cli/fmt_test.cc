// Does `fmt` write the canonical form in place, and only say what would change when asked to?
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

const std::string kUntidy = "rlflow 1\nparam a:int=1\nparam long_name : int   =   2  # why\n\n\n\nparam c : int = 3\n";
const std::string kTidy =
    "rlflow 1\nparam a         : int = 1\nparam long_name : int = 2  # why\n\nparam c : int = 3\n";

class Fmt : public ::testing::Test {
 protected:
  void SetUp() override { write_file(path_, kUntidy); }
  ProcessResult fmt(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), "fmt");
    return rlflow(arguments, folder_.path(), input);
  }
  ScratchFolder folder_{"fmt"};
  std::string path_ = folder_.path() + "/p.rlflow";
};

TEST_F(Fmt, WritesTheFileInPlace) {
  EXPECT_EQ(fmt({"p.rlflow"}).exit_code, 0);
  EXPECT_EQ(read_file(path_), kTidy);
}

TEST_F(Fmt, KeepsTheModeAndTheLinkAndLeavesNothingBehind) {
  chmod(path_.c_str(), 0640);
  std::filesystem::create_symlink("p.rlflow", folder_.path() + "/link.rlflow");
  EXPECT_EQ(fmt({"link.rlflow"}).exit_code, 0);
  EXPECT_EQ(read_file(path_), kTidy);
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.path() + "/link.rlflow"));
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

TEST_F(Fmt, CheckChangesNothingAndExitsOne) {
  ProcessResult result = fmt({"--check", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "p.rlflow: not formatted\n");
  EXPECT_EQ(read_file(path_), kUntidy);
}

TEST_F(Fmt, CheckOfAFormattedFileExitsZero) {
  write_file(path_, kTidy);
  ProcessResult result = fmt({"--check", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
}

TEST_F(Fmt, DiffPrintsHunksAndChangesNothing) {
  ProcessResult result = fmt({"--diff", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out,
            "--- p.rlflow\n"
            "+++ p.rlflow (formatted)\n"
            "@@ -1,7 +1,5 @@\n"
            " rlflow 1\n"
            "-param a:int=1\n"
            "-param long_name : int   =   2  # why\n"
            "-\n"
            "-\n"
            "+param a         : int = 1\n"
            "+param long_name : int = 2  # why\n"
            " \n"
            " param c : int = 3\n");
  EXPECT_EQ(read_file(path_), kUntidy);
}

// Two changes further apart than two contexts are two hunks; the second counts what the first took away.
TEST_F(Fmt, DiffCutsHunksAndCountsTheirLines) {
  std::string lines;
  for (int i = 0; i < 10; ++i) lines += "# " + std::to_string(i) + "\n";
  write_file(path_, "rlflow  1\n" + lines + "\n\nparam c : int = 3\n");
  ProcessResult result = fmt({"--diff", "p.rlflow"});
  EXPECT_NE(result.out.find("@@ -1,4 +1,4 @@\n-rlflow  1\n+rlflow 1\n # 0\n # 1\n # 2\n@@ -9,6 +9,5 @@\n # 7\n"),
            std::string::npos)
      << result.out;
}

TEST_F(Fmt, DiffSaysWhereALastLineHasNoEnd) {
  write_file(path_, "rlflow 1");
  EXPECT_EQ(
      fmt({"--diff", "p.rlflow"}).out,
      "--- p.rlflow\n+++ p.rlflow (formatted)\n@@ -1 +1 @@\n-rlflow 1\n\\ No newline at end of file\n+rlflow 1\n");
}

TEST_F(Fmt, TurnsTheStandardInputIntoTheStandardOutput) {
  ProcessResult result = fmt({"-"}, kUntidy);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, kTidy);
}

TEST_F(Fmt, ATextWithSyntaxErrorsIsNotTouched) {
  const std::string broken = "rlflow 1\nparam a  : int = \n";
  write_file(path_, broken);
  ProcessResult result = fmt({"p.rlflow"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("p.rlflow:2:"), std::string::npos) << result.err;
  EXPECT_EQ(read_file(path_), broken);
}

TEST_F(Fmt, AProgramThatMeansNothingIsStillFormatted) {
  write_file(path_, "rlflow 1\nreward  x = builtin(\"nothing\")\n");
  EXPECT_EQ(fmt({"p.rlflow"}).exit_code, 0);
  EXPECT_EQ(read_file(path_), "rlflow 1\nreward x = builtin(\"nothing\")\n");
}

}  // namespace
}  // namespace rlflow::testing
