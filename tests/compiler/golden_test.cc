// Does every wrong program get the right message at the right line, and nothing besides?
#include <gtest/gtest.h>

#include "compiler/diagnostic_codes.h"
#include "tests/compiler/cases.h"

namespace rlflow::testing {
namespace {

// What no small text can show: a file of more than 1 MiB, a file that is not there (see text_test.cc), a model that is
// too large for a machine (see tests/planning).
const std::set<std::string> kShownElsewhere = {"E0108", "E0111", "E0513"};

TEST(Golden, EachCaseGivesExactlyItsMessages) {
  const Catalog known = catalog();
  for (const fs::path& path : case_files()) {
    SCOPED_TRACE(path.filename().string());
    Case test = read_case(path);
    Analysis analysis = analyze_case(test, known);
    std::vector<bool> met(test.expected.size());
    for (const Diagnostic& diagnostic : analysis.diagnostics) {
      std::size_t i = 0;
      while (i < test.expected.size() && (met[i] || !meets(diagnostic, analysis.sources, test.expected[i]))) ++i;
      if (i == test.expected.size()) {
        ADD_FAILURE() << "not expected:\n" << render(diagnostic, analysis.sources);
        continue;
      }
      met[i] = true;
      if (test.expected[i].details.empty()) continue;
      EXPECT_EQ(details_of(diagnostic, analysis.sources), test.expected[i].details) << diagnostic.message;
    }
    for (std::size_t i = 0; i < test.expected.size(); ++i) {
      const Expectation& e = test.expected[i];
      EXPECT_TRUE(met[i]) << "missing: " << e.level_and_code << " " << e.place << ": " << e.text;
    }
  }
}

// Each row of the table of mistakes in the language reference fixes place, labels, notes and help.
TEST(Golden, TheTableOfMistakesIsFixedToTheLetter) {
  std::set<std::string> rows;
  for (const fs::path& path : case_files()) {
    std::string name = path.stem().string();
    if (!name.starts_with("table_")) continue;
    rows.insert(name.substr(6, 2));
    for (const Expectation& e : read_case(path).expected) EXPECT_FALSE(e.details.empty()) << name;
  }
  EXPECT_EQ(rows.size(), 16u);
}

TEST(Golden, EveryCodeHasACase) {
  std::set<std::string> shown = kShownElsewhere;
  for (const fs::path& path : case_files()) {
    for (const Expectation& e : read_case(path).expected) {
      std::size_t bracket = e.level_and_code.find('[');
      shown.insert(e.level_and_code.substr(bracket + 1, 5));
    }
  }
  for (const CodeInfo& info : diagnostic_codes())
    EXPECT_EQ(shown.count(std::string(info.code)), 1u) << info.code << " has no case";
  for (const std::string& code : shown) EXPECT_NE(find_code(code), nullptr) << code << " is not in the table";
}

TEST(Golden, HeadlinesKeepTheHouseForm) {
  const Catalog known = catalog();
  for (const fs::path& path : case_files()) {
    for (const Diagnostic& diagnostic : analyze_case(read_case(path), known).diagnostics) {
      EXPECT_LE(diagnostic.message.size(), 90u) << diagnostic.message;
      EXPECT_NE(diagnostic.message.back(), '.') << diagnostic.message;
    }
  }
}

}  // namespace
}  // namespace rlflow::testing
