// Is every text that the compiler can say said in a golden case? A label, note or help without one fails here.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "tests/compiler/cases.h"
#include "tests/compiler/mistakes.h"

namespace rlflow::testing {
namespace {

// Sources whose texts are no messages: what `explain` says, dumps for tests, names of tokens.
const std::set<std::string> kNoMessages = {"dump.cc", "dump_ast.cc", "syntax_words.cc"};

// What no golden case can say, and why.
const std::map<std::string, std::string> kUnsaid = {
    {"it may not be read", "tests run as root, who may read all"},
    {"it could not be read to its end", "needs a disk that fails"},
    {"a number or one of ", "no setting is a number or a word yet"},
    {"# rlflow: allow(", "is read, not said"},
    {"(a line of ", "the renderer's, see render_test.cc"},
    {"it has more than 1 MiB", "no small case has it, see program_test.cc"},
    {"Error while parsing ", "what toml++ begins its messages with"},
    {"key-value pair: ", "the same"},
    {"a program without errors stops", "a programmer's mistake"},
};

struct Text {
  std::string place;
  std::string text;
};

std::string unescaped(const std::string& literal) {
  std::string text;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] == '\\' && i + 1 < literal.size() && literal[++i] == 'n')
      text += '\n';
    else
      text += literal[i];
  }
  return text;
}

// Prose: at least two words of two letters.
bool is_prose(const std::string& text) {
  static const std::regex kTwoWords(R"([a-z]{2,}.* .*[a-z]{2,})");
  return std::regex_search(text, kTwoWords);
}

std::vector<Text> texts_of(const fs::path& source) {
  static const std::regex kLiteral(R"re("((?:[^"\\\n]|\\.)*)")re");
  std::vector<Text> texts;
  std::istringstream lines(read_file(source));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos || line.compare(start, 2, "//") == 0 || line[start] == '#') continue;
    for (std::sregex_iterator it(line.begin(), line.end(), kLiteral), end; it != end; ++it) {
      std::string text = unescaped((*it)[1]);
      if (is_prose(text)) texts.push_back({source.filename().string() + ":" + std::to_string(number), text});
    }
  }
  return texts;
}

void add_messages(const Analysis& analysis, std::string& said) {
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    said += diagnostic.message + "\n" + diagnostic.primary_label + "\n";
    for (const Label& label : diagnostic.labels) said += label.text + "\n";
    for (const std::string& note : diagnostic.notes) said += note + "\n";
    for (const Fix& fix : diagnostic.fixes) {
      said += fix.title + "\n";
      for (const Edit& edit : fix.edits) said += edit.text + "\n";
    }
  }
}

std::string all_that_goldens_say() {
  const Catalog known = catalog();
  std::string said;
  for (const fs::path& path : case_files()) add_messages(analyze_case(read_case(path), known), said);
  for (const fs::path& file : mistake_files()) {
    for (const Mistake& mistake : read_mistakes(file)) add_messages(analyze_mistake(mistake, known), said);
  }
  return said;
}

TEST(Exercised, EveryTextOfTheCompilerIsSaidInAGoldenCase) {
  const std::string said = all_that_goldens_say();
  std::size_t texts = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(RLFLOW_SOURCE_DIR) / "compiler")) {
    std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".cc" || name.starts_with("codes_") || kNoMessages.count(name) > 0) continue;
    for (const Text& text : texts_of(entry.path())) {
      ++texts;
      if (kUnsaid.count(text.text) > 0) continue;
      EXPECT_NE(said.find(text.text), std::string::npos)
          << text.place << ": no golden case says \"" << text.text << "\"";
    }
  }
  EXPECT_GT(texts, 200u);
}

// The test of the test: a text that is nowhere said is prose, and is missed.
TEST(Exercised, ATextWithoutACaseIsFound) {
  EXPECT_TRUE(is_prose("no golden case says this"));
  EXPECT_FALSE(is_prose("E0101"));
  EXPECT_EQ(all_that_goldens_say().find("no golden case says this"), std::string::npos);
}

}  // namespace
}  // namespace rlflow::testing
