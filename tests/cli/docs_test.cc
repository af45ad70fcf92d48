// Do the generated parts of docs/ say what the program says now?
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Docs, AreCurrent) {
  ScratchFolder out("docs");
  const std::string docs = std::string(RLFLOW_SOURCE_DIR) + "/docs";
  ProcessResult made =
      run_process({"python3", docs + "/generate.py", std::string(RLFLOW_BINARY_DIR) + "/rlflow", out.path()});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  for (const char* name : {"/language.md", "/codes.md", "/tiny_grpo.svg"}) {
    ASSERT_FALSE(text_of(out.path() + name).empty()) << name;
    EXPECT_TRUE(text_of(out.path() + name) == text_of(docs + name)) << "docs" << name << " is stale: run ./dev docs";
  }
}

}  // namespace
}  // namespace rlflow::testing
