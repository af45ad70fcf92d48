// Does every file in pipelines/ check, plan and stand in its canonical form, and is what its README says true?
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "compiler/format.h"
#include "tests/compiler/support.h"

namespace rlflow::testing {
namespace {

fs::path folder() { return fs::path(RLFLOW_SOURCE_DIR) / "pipelines"; }
std::string name_of(const fs::path& path) { return path.lexically_relative(folder()).replace_extension().string(); }

CompileRequest request_of(const fs::path& path, CompileMode mode) {
  CompileRequest request;
  request.path = path.string();
  request.root = std::string(RLFLOW_SOURCE_DIR);
  request.mode = mode;
  return request;
}

class Pipelines : public ::testing::TestWithParam<fs::path> {
 protected:
  Catalog catalog_ = catalog();
};

TEST_P(Pipelines, ChecksAndPlansWithNothingButMissingFiles) {
  const Compilation result = compile(request_of(GetParam(), CompileMode::check), catalog_);
  const std::string said = render_all(result.analysis.diagnostics, result.analysis.sources);
  EXPECT_TRUE(result.analysis.ok()) << said;
  for (const std::string& code : codes_of(result.analysis)) EXPECT_TRUE(code == "E0603" || code == "E0604") << said;
  EXPECT_EQ(result.plan.has_value(), !result.analysis.pipeline.flow.empty());
}

TEST_P(Pipelines, IsFormattedAndKeepsItsMeaningWhenItIsFormattedAgain) {
  const std::string text = read_file(GetParam());
  EXPECT_EQ(format_source(text), text) << "run `rlflow fmt " << GetParam().string() << "`";
  const std::string squeezed = std::regex_replace(text, std::regex("(\\S) {2,}(?=[^#])"), "$1 ");
  EXPECT_EQ(format_source(squeezed), text);
  CompileRequest request = request_of(GetParam(), CompileMode::check);
  const Compilation aligned = compile(request, catalog_);
  request.texts[request.path] = squeezed;
  const Compilation ragged = compile(request, catalog_);
  ASSERT_EQ(ragged.plan.has_value(), aligned.plan.has_value());
  if (aligned.plan) {
    EXPECT_EQ(ragged.plan->meaning, aligned.plan->meaning);
  }
}

// "| [name](name.rlflow) | … | yes, … |"
TEST_P(Pipelines, TheReadmeSaysWhetherItRuns) {
  const std::string readme = read_file(folder() / "README.md");
  const std::string link = "[" + name_of(GetParam()) + "](" + name_of(GetParam()) + ".rlflow)";
  const std::size_t at = readme.find(link);
  ASSERT_NE(at, std::string::npos) << link << " is not in pipelines/README.md";
  const Analysis analysis = analyze(request_of(GetParam(), CompileMode::run), catalog_);
  if (analysis.pipeline.flow.empty()) return;
  std::set<std::string> codes;
  for (const std::string& code : codes_of(analysis)) codes.insert(code);
  const bool runs = codes.count("E0510") + codes.count("E0511") == 0;
  const std::string row = readme.substr(at, readme.find('\n', at) - at);
  EXPECT_NE(row.find(runs ? "| yes, " : "| no: "), std::string::npos) << row;
}

INSTANTIATE_TEST_SUITE_P(All, Pipelines, ::testing::ValuesIn(all_programs()), [](const auto& program) {
  return std::regex_replace(name_of(program.param), std::regex("[^A-Za-z0-9]"), "_");
});

}  // namespace
}  // namespace rlflow::testing
