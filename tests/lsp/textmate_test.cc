// Do the colours of the editors know the words of the grammar, and no others?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "compiler/arithmetic.h"
#include "compiler/compile.h"
#include "nodes/signatures/catalog.h"
#include "tests/support/process.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;
using Words = std::set<std::string>;

const std::string kVsCode = RLFLOW_SOURCE_DIR "/editors/vscode/";

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
  collect(json::parse(read_file(kVsCode + "syntaxes/rlflow.tmLanguage.json")), by_scope);
  const std::string unit_scope = "keyword.other.unit.rlflow";
  EXPECT_EQ(by_scope[unit_scope], units_of_the_compiler());
  Words keywords;
  for (const auto& [scope, words] : by_scope) {
    if (scope != unit_scope) keywords.insert(words.begin(), words.end());
  }
  // `step` and `steps` are words of the grammar that are coloured as the unit they are.
  for (const char* word : {"step", "steps"}) {
    if (by_scope[unit_scope].count(word) > 0) keywords.insert(word);
  }
  EXPECT_EQ(keywords, words_of_the_grammar());
  EXPECT_EQ(keywords.count("every"), 1u);
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
