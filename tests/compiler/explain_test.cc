// Are the examples of `rlflow explain` true: does the wrong one give its code, and the right one not?
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "compiler/diagnostic_codes.h"
#include "tests/compiler/support.h"

namespace rlflow::testing {
namespace {

bool is_declaration(const std::string& word) {
  for (const char* keyword : {"import", "param", "group", "model", "replica", "data", "reward", "flow"}) {
    if (word == keyword) return true;
  }
  return false;
}

// What names a line: a declaration by keyword and name, a node by its first output, the rest by their word.
std::string key_of(const std::string& line) {
  std::istringstream words(line);
  std::string first;
  std::string second;
  words >> first >> second;
  if (first == "every") return line.find("checkpoint(") != std::string::npos ? "every checkpoint" : "every evaluate";
  if (is_declaration(first) && second.find('=') != 0) return first + " " + second;
  if (!first.empty() && first.back() == ',') first.pop_back();
  return first;
}

struct Example {
  std::vector<std::string> lines;
  std::vector<std::string> overrides;
};

// Puts the example's lines into tiny_grpo: each replaces the line of the same name, or stands behind the last one.
Example patched(std::string_view text) {
  Example result;
  std::istringstream base(read_file(fs::path(RLFLOW_SOURCE_DIR) / "pipelines/tiny_grpo.rlflow"));
  for (std::string line; std::getline(base, line);) result.lines.push_back(line);
  std::istringstream example{std::string(text)};
  auto after = result.lines.end();
  std::set<std::string> replaced;
  for (std::string line; std::getline(example, line);) {
    if (line.starts_with("-s ")) {
      result.overrides.push_back(line.substr(3));
      continue;
    }
    bool remove = line.starts_with("# without ");
    std::string key = remove ? line.substr(10) : key_of(line);
    auto same =
        std::find_if(result.lines.begin(), result.lines.end(), [&](const std::string& l) { return key_of(l) == key; });
    if (same != result.lines.end() && replaced.insert(key).second) {
      *same = remove ? "" : line;
      after = same + 1;
      continue;
    }
    bool declaration = is_declaration(key.substr(0, key.find(' ')));
    std::string anchor = declaration ? "flow grpo" : "step";
    auto place = after;
    if (place == result.lines.end()) {
      place = std::find_if(result.lines.begin(), result.lines.end(),
                           [&](const std::string& l) { return key_of(l) == anchor; });
    }
    after = result.lines.insert(place, line) + 1;
  }
  return result;
}

Analysis analyze_example(std::string_view text, const Catalog& known) {
  Example example = patched(text);
  std::string program;
  for (const std::string& line : example.lines) program += line + "\n";
  CompileRequest request = request_for(program, project_root("explain"));
  request.overrides = example.overrides;
  return analyze(request, known);
}

std::string rendered(const Analysis& analysis) { return render_all(analysis.diagnostics, analysis.sources); }

TEST(Explain, TheUnchangedProgramIsClean) {
  const Catalog known = catalog();
  Analysis analysis = analyze_example("", known);
  EXPECT_EQ(rendered(analysis), "");
}

TEST(Explain, WrongExamplesAreWrongAndRightOnesAreNot) {
  const Catalog known = catalog();
  for (const CodeInfo& info : diagnostic_codes()) {
    if (info.wrong.empty()) continue;
    Analysis wrong = analyze_example(info.wrong, known);
    std::vector<std::string> codes = codes_of(wrong);
    EXPECT_NE(std::count(codes.begin(), codes.end(), info.code), 0) << info.code << "\n" << rendered(wrong);
    if (info.right.empty()) continue;
    Analysis right = analyze_example(info.right, known);
    codes = codes_of(right);
    EXPECT_EQ(std::count(codes.begin(), codes.end(), info.code), 0) << info.code << "\n" << rendered(right);
    EXPECT_TRUE(right.ok()) << info.code << "\n" << rendered(right);
  }
}

TEST(Explain, CodesAreSortedAndTold) {
  std::string_view last;
  for (const CodeInfo& info : diagnostic_codes()) {
    EXPECT_LT(last, info.code);
    EXPECT_FALSE(info.headline.empty());
    EXPECT_EQ(find_code(info.code)->code, info.code);
    last = info.code;
  }
  EXPECT_EQ(find_code("E9999"), nullptr);
  EXPECT_EQ(find_lint("unused-node")->code, "W0701");
  EXPECT_EQ(find_lint(""), nullptr);
}

}  // namespace
}  // namespace rlflow::testing
