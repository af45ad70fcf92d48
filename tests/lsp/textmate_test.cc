// Do the colours of the editors know the words of the grammar, and no others?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "compiler/arithmetic.h"
#include "compiler/compile.h"
#include "compiler/parse.h"
#include "nodes/signatures/catalog.h"
#include "tests/lsp/textmate.h"
#include "tests/support/process.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;
using Words = std::set<std::string>;

const std::string kVsCode = RLFLOW_SOURCE_DIR "/editors/vscode/";

const std::string kReservedScope = "invalid.illegal.reserved.rlflow";

const json& grammar() {
  static const json kGrammar = json::parse(read_file(kVsCode + "syntaxes/rlflow.tmLanguage.json"));
  return kGrammar;
}

// The keyword tokens of the grammar: EVERY : 'every' ;
Words words_of_the_grammar() {
  const std::string text = read_file(RLFLOW_SOURCE_DIR "/grammar/RlFlow.g4");
  const std::regex rule("([A-Z]+) : '([a-z]+)' ;");
  Words words;
  for (std::sregex_iterator it(text.begin(), text.end(), rule), end; it != end; ++it) words.insert((*it)[2]);
  return words;
}

// As the message about an unknown unit lists them; the singular of each counts too where it is a unit.
Words units_of_the_compiler() {
  const Catalog known = catalog();
  CompileRequest request;
  request.path = "p.rlflow";
  request.texts = {{"p.rlflow", "rlflow 1\nparam a : int = 1 parsecs\n"}};
  Words units;
  for (const Diagnostic& diagnostic : analyze(request, known).diagnostics) {
    if (diagnostic.code != "E0114") continue;
    for (const std::string& note : diagnostic.notes) {
      const std::regex word("[A-Za-z]+");
      for (std::sregex_iterator it(note.begin(), note.end(), word), end; it != end; ++it) {
        std::string unit = it->str(), one = unit.substr(0, unit.size() - 1);
        if (with_unit(1, unit).value) units.insert(unit);
        if (unit.size() > 2 && unit.back() == 's' && with_unit(1, one).value) units.insert(one);
      }
    }
  }
  return units;
}

// The capture groups of a pattern that are nothing but words, (on|when), by number.
std::map<int, Words> word_groups(const std::string& pattern) {
  std::map<int, Words> groups;
  int number = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
      continue;
    }
    if (pattern[i] != '(' || pattern.compare(i, 2, "(?") == 0) continue;
    ++number;
    std::smatch body;
    const std::string rest = pattern.substr(i);
    if (!std::regex_search(rest, body, std::regex("^\\(([A-Za-z|]+)\\)"))) continue;
    const std::string list = body[1];
    const std::regex word("[A-Za-z]+");
    for (std::sregex_iterator it(list.begin(), list.end(), word), end; it != end; ++it)
      groups[number].insert(it->str());
  }
  return groups;
}

// Every word that the colours name, by what it is coloured as.
void collect(const json& rule, std::map<std::string, Words>& by_scope) {
  if (rule.contains("match")) {
    for (const auto& [number, words] : word_groups(rule["match"])) {
      const json captures = rule.value("captures", json::object());
      const std::string key = std::to_string(number);
      ASSERT_TRUE(captures.contains(key)) << rule.dump();
      by_scope[captures[key]["name"]].insert(words.begin(), words.end());
    }
  }
  for (const json& child : rule.value("patterns", json::array())) collect(child, by_scope);
  for (const json& child : rule.value("repository", json::object())) collect(child, by_scope);
}

TEST(TextMate, ColoursTheWordsOfTheGrammarAndTheUnits) {
  std::map<std::string, Words> by_scope;
  collect(grammar(), by_scope);
  const std::string unit_scope = "keyword.other.unit.rlflow";
  EXPECT_EQ(by_scope[unit_scope], units_of_the_compiler());
  Words keywords;
  for (const auto& [scope, words] : by_scope) {
    if (scope != unit_scope && scope != kReservedScope) keywords.insert(words.begin(), words.end());
  }
  // `step` and `steps` are words of the grammar that are coloured as the unit they are.
  for (const char* word : {"step", "steps"}) {
    if (by_scope[unit_scope].count(word) > 0) keywords.insert(word);
  }
  EXPECT_EQ(keywords, words_of_the_grammar());
  EXPECT_EQ(keywords.count("every"), 1u);
}

// Words of later versions are no names: what the colours mark as an error is one.
TEST(TextMate, MarksTheReservedWords) {
  std::map<std::string, Words> by_scope;
  collect(grammar(), by_scope);
  EXPECT_EQ(by_scope[kReservedScope], (Words{"use", "buffer", "env", "def"}));
  for (const std::string& word : by_scope[kReservedScope]) {
    const Catalog known = catalog();
    CompileRequest request;
    request.path = "p.rlflow";
    request.texts = {{"p.rlflow", "rlflow 1\nparam " + word + " : int = 1\n"}};
    EXPECT_FALSE(analyze(request, known).ok()) << word;
  }
}

// The tokens of a program with what stands around them.
class Colours {
 public:
  explicit Colours(const std::string& text)
      : text_(text), tokens_(tokenize(text)), scopes_(scopes_of(text, grammar())) {}

  void check() const {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == TokenKind::newline) continue;
      const std::string want = expected(i);
      for (std::uint32_t at = tokens_[i].begin; at < tokens_[i].end; ++at) {
        const bool escape = want == "string." && scopes_[at].starts_with("constant.character.escape");
        ASSERT_TRUE(escape || scopes_[at].starts_with(want))
            << "`" << word(i) << "` at byte " << at << " is `" << scopes_[at] << "`, not `" << want << "`";
      }
    }
  }

 private:
  std::string word(std::size_t i) const {
    if (i >= tokens_.size() || tokens_[i].kind == TokenKind::newline) return "";
    return text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
  }
  std::string before(std::size_t i) const { return i == 0 ? "" : word(i - 1); }

  std::string expected(std::size_t i) const {
    switch (tokens_[i].kind) {
      case TokenKind::comment: return "comment.line";
      case TokenKind::string: return "string.";
      case TokenKind::number: return "constant.numeric";
      case TokenKind::word: return expected_of_word(i);
      case TokenKind::symbol:
      case TokenKind::newline:
      case TokenKind::bad: break;
    }
    return Words{"->", "..", "=", "==", "<=", ">=", "!=", "<", ">", "*", "/", "%", "+", "-"}.count(word(i)) > 0
               ? "keyword.operator"
               : "";
  }

  std::string expected_of_word(std::size_t i) const {
    static const Words kDeclared = {"param", "group", "model", "replica", "data", "reward", "flow"};
    const std::string text = word(i), last = before(i), next = word(i + 1);
    const bool first = last.empty() || last == "{";
    if (first && text == "rlflow") return "keyword.other.version";
    if (first && text == "import") return "keyword.control.import";
    if (first && kDeclared.count(text) > 0 && next != "=" && next != ":") return "keyword.declaration";
    if (i > 0 && kDeclared.count(last) > 0 && before(i - 1).empty()) return "entity.name.rlflow";
    if (text == "every" || (first && (text == "sync" || text == "stop"))) return "keyword.control";
    if (Words{"on", "when", "in", "as"}.count(text) > 0) return "keyword.control";
    if (text == "lag" && next != "=" && !first) return "keyword.control";
    if (text == "after" && last == "stop") return "keyword.control";
    if (text == "at" || text == "start" || (text == "and" && next == "at")) return "keyword.control";
    if (Words{"and", "or", "not"}.count(text) > 0) return "keyword.operator.word";
    if (text == "true" || text == "false") return "constant.language";
    const bool counted = i > 0 && tokens_[i - 1].kind == TokenKind::number;
    if (counted || (i > 1 && before(i - 1) == "every")) return "keyword.other.unit";
    if (last == ":") return "support.type";
    if (next == "(") return "entity.name.function";
    return next == "=" && last != "." ? "variable.parameter" : "variable.other";
  }

  std::string text_;
  std::vector<Token> tokens_;
  std::vector<std::string> scopes_;
};

TEST(TextMate, ColoursEachTokenOfThePrograms) {
  int programs = 0;
  for (const char* folder : {"/pipelines", "/cli/new"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(RLFLOW_SOURCE_DIR + std::string(folder))) {
      if (entry.path().extension() != ".rlflow") continue;
      SCOPED_TRACE(entry.path().string());
      Colours(read_file(entry.path())).check();
      ++programs;
    }
  }
  EXPECT_GE(programs, 10);
}

// What no program of the folder has.
TEST(TextMate, ColoursRareForms) {
  for (const char* text :
       {"param a : string = \"x \\\"y\\\" \\u{1F600} # no comment\"  # one\n",
        "  b = f(x) when not a == 1 and c <= 2.5e-3 or true\n", "  every k steps and at start { checkpoint(policy) }\n",
        "  sync policy -> sampler every 1 step lag <= 2\n", "group g = gpu[0..4] { tp = 2 }\n",
        "model rm = load(base) on g { head = reward }\n",
        "model p = load(base) on g { trainable, lora(rank=8, targets=[q_proj]) }\nmodel ref = base_of(p)\n"}) {
    SCOPED_TRACE(text);
    Colours(text).check();
  }
}

// The test of the test: a colour that is wrong would be seen.
TEST(TextMate, TheScannerKnowsLinesAndStrings) {
  const std::string text = "a \"b\nc\n";
  const std::vector<std::string> scopes = scopes_of(text, grammar());
  EXPECT_EQ(scopes[0], "variable.other.rlflow");
  EXPECT_EQ(scopes[3], "string.quoted.double.rlflow");
  EXPECT_EQ(scopes[5], "variable.other.rlflow") << "an open string ends with its line";
}

TEST(TextMate, TheExtensionNamesFilesThatAreThere) {
  const json package = json::parse(read_file(kVsCode + "package.json"));
  const json& contributes = package["contributes"];
  const json colours = json::parse(read_file(kVsCode + contributes["grammars"][0]["path"].get<std::string>()));
  EXPECT_EQ(colours["scopeName"], contributes["grammars"][0]["scopeName"]);
  const json brackets =
      json::parse(read_file(kVsCode + contributes["languages"][0]["configuration"].get<std::string>()));
  EXPECT_EQ(brackets["comments"]["lineComment"], "#");
  const std::string client = read_file(kVsCode + package["main"].get<std::string>());
  EXPECT_NE(client.find("args: [\"lsp\"]"), std::string::npos);
  EXPECT_TRUE(contributes["configuration"]["properties"].contains("rlflow.path"));
}

}  // namespace
}  // namespace rlflow::testing
