// Are the fixes that messages offer true: does each safe one mend its mistake and break nothing?
#include <gtest/gtest.h>

#include <map>

#include "tests/compiler/cases.h"
#include "tests/compiler/mistakes.h"

namespace rlflow::testing {
namespace {

// "E0101 expected …", sorted: what is told, wherever it stands.
std::vector<std::string> told(const Analysis& analysis) {
  std::vector<std::string> list;
  for (const Diagnostic& diagnostic : analysis.diagnostics) list.push_back(diagnostic.code + " " + diagnostic.message);
  std::sort(list.begin(), list.end());
  return list;
}

bool on_command_line(const Fix& fix, const SourceMap& sources) {
  return std::any_of(fix.edits.begin(), fix.edits.end(),
                     [&](const Edit& edit) { return sources.is_command_line(edit.span.file); });
}

CompileRequest fixed(CompileRequest request, const Fix& fix, const SourceMap& sources) {
  std::vector<Edit> edits = fix.edits;
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.span.begin > b.span.begin; });
  for (const Edit& edit : edits) {
    const SourceFile& file = sources.file(edit.span.file);
    request.texts[file.path].replace(edit.span.begin, edit.span.end - edit.span.begin, edit.text);
  }
  return request;
}

struct Tried {
  std::string name;
  CompileRequest request;
};

std::vector<Tried> all_goldens() {
  std::vector<Tried> list;
  for (const fs::path& path : case_files()) {
    Case test = read_case(path);
    if (!test.has_cluster) list.push_back({path.filename().string(), test.request});
  }
  for (const fs::path& file : mistake_files()) {
    for (const Mistake& mistake : read_mistakes(file)) {
      if (!mistake.has_cluster) list.push_back({mistake.name, mistake.request});
    }
  }
  return list;
}

// A header that is put in lets more be read, and lines that were broken say what they hold; beside such mistakes of
// syntax a fix may uncover others.
bool may_uncover(const Diagnostic& diagnostic) { return diagnostic.code.starts_with("E01"); }

TEST(Fixes, EachSafeOneMendsItsMistakeAndAddsNone) {
  const Catalog known = catalog();
  std::size_t tried = 0;
  for (const Tried& golden : all_goldens()) {
    Analysis before = analyze(golden.request, known);
    for (const Diagnostic& diagnostic : before.diagnostics) {
      for (const Fix& fix : diagnostic.fixes) {
        if (fix.applicability != Applicability::safe || on_command_line(fix, before.sources)) continue;
        ++tried;
        std::vector<std::string> expected = told(before);
        expected.erase(std::find(expected.begin(), expected.end(), diagnostic.code + " " + diagnostic.message));
        std::vector<std::string> now = told(analyze(fixed(golden.request, fix, before.sources), known));
        if (may_uncover(diagnostic)) {
          EXPECT_TRUE(std::includes(now.begin(), now.end(), expected.begin(), expected.end()) ||
                      now.size() < expected.size() + 1)
              << golden.name << "\n"
              << render(diagnostic, before.sources);
          continue;
        }
        EXPECT_TRUE(std::includes(expected.begin(), expected.end(), now.begin(), now.end()))
            << golden.name << "\n"
            << render(diagnostic, before.sources) << ::testing::PrintToString(now);
        EXPECT_LE(now.size(), expected.size()) << golden.name << "\n" << render(diagnostic, before.sources);
      }
    }
  }
  EXPECT_GE(tried, 5u);
}

// Where the likely fix leads on to the next mistake, and why that is well.
const std::map<std::string, std::string> kLeadOn = {
    {"import misspelt", "there is no such file"},
    {"a name with a dash", "the other lines call it otherwise"},
    {"two bars", "the condition holds then"},
    {"betas misspelt and lr left out", "two mistakes, told one after the other"},
    {"an unknown device", "GPUs have numbers, which only a person knows"},
};

// Of a program with one mistake, the likely fix makes a program without errors.
TEST(Fixes, EachLikelyOneMakesARightProgram) {
  const Catalog known = catalog();
  std::size_t tried = 0;
  for (const Tried& golden : all_goldens()) {
    Analysis before = analyze(golden.request, known);
    if (before.diagnostics.size() != 1) continue;
    const Diagnostic& diagnostic = before.diagnostics[0];
    if (kLeadOn.count(golden.name) > 0) continue;
    for (const Fix& fix : diagnostic.fixes) {
      if (fix.applicability == Applicability::guess || on_command_line(fix, before.sources)) continue;
      if (fix.edits.empty()) continue;
      ++tried;
      Analysis after = analyze(fixed(golden.request, fix, before.sources), known);
      EXPECT_TRUE(after.ok()) << golden.name << "\n"
                              << render(diagnostic, before.sources) << "\nbecomes\n"
                              << render_all(after.diagnostics, after.sources);
    }
  }
  EXPECT_GE(tried, 100u);
}

}  // namespace
}  // namespace rlflow::testing
