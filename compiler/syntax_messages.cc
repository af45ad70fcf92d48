// Words for tokens, and the message for a token that does not fit.
#include "compiler/syntax_messages.h"

#include <algorithm>
#include <string>
#include <vector>

namespace rlflow {
namespace {

constexpr std::string_view kReserved[] = {"import", "param", "group", "model", "replica", "data",   "reward", "flow",
                                          "sync",   "every", "stop",  "on",    "when",    "in",     "as",     "and",
                                          "or",     "not",   "true",  "false", "use",     "buffer", "env",    "def"};

bool is_operator(Terminal t) { return t >= Terminal::plus && t <= Terminal::not_equal; }
bool is_soft_word(Terminal t) { return t >= Terminal::k_rlflow && t <= Terminal::k_steps; }
bool is_keyword(Terminal t) { return t >= Terminal::k_import && t <= Terminal::k_false; }

bool contains(const std::vector<Terminal>& list, Terminal t) {
  return std::find(list.begin(), list.end(), t) != list.end();
}

void add_once(std::vector<std::string>& words, std::string word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
}

// "a value", "a name" and the like instead of every token they could begin with.
std::vector<std::string> expected_words(const std::vector<Terminal>& expected) {
  std::vector<std::string> words;
  bool value = contains(expected, Terminal::integer) && contains(expected, Terminal::string);
  bool name = contains(expected, Terminal::id);
  bool word = name && contains(expected, Terminal::k_model);
  bool after_value = contains(expected, Terminal::plus);
  if (value)
    words.push_back("a value");
  else if (name && !after_value)
    words.push_back("a name");
  for (Terminal t : expected) {
    bool begins_value = value && (t == Terminal::integer || t == Terminal::real || t == Terminal::string ||
                                  t == Terminal::lparen || t == Terminal::lbracket || t == Terminal::minus ||
                                  t == Terminal::k_not || t == Terminal::k_true || t == Terminal::k_false);
    bool part_of_name = name && (t == Terminal::id || is_soft_word(t) || (word && is_keyword(t)));
    bool continues_value = after_value && (is_operator(t) || t == Terminal::k_and || t == Terminal::k_or ||
                                           t == Terminal::dot || t == Terminal::lbracket || t == Terminal::lparen);
    if (!begins_value && !part_of_name && !continues_value) add_once(words, std::string(describe(t)));
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string found(const SyntaxError& error, Span at, const SourceMap& sources) {
  if (error.at.type == Terminal::newline) return "the line ends";
  if (error.at.type == Terminal::end) return "the file ends";
  return "`" + std::string(sources.text(at)) + "` stands here";
}

Diagnostic& report_keyword(Span at, const std::string& word, Diagnostics& diagnostics) {
  return diagnostics.error("E0110", at, "`" + word + "` is a word of the language and cannot be a name")
      .help("choose another name, e.g. `" + word + "_1`");
}

}  // namespace

std::string_view describe(Terminal terminal) {
  static constexpr std::string_view kTexts[] = {"nothing",
                                                "`import`",
                                                "`param`",
                                                "`group`",
                                                "`model`",
                                                "`replica`",
                                                "`data`",
                                                "`reward`",
                                                "`flow`",
                                                "`sync`",
                                                "`every`",
                                                "`stop`",
                                                "`on`",
                                                "`when`",
                                                "`in`",
                                                "`as`",
                                                "`and`",
                                                "`or`",
                                                "`not`",
                                                "`true`",
                                                "`false`",
                                                "`rlflow`",
                                                "`at`",
                                                "`start`",
                                                "`after`",
                                                "`lag`",
                                                "`step`",
                                                "`steps`",
                                                "`(`",
                                                "`)`",
                                                "`[`",
                                                "`]`",
                                                "`{`",
                                                "`}`",
                                                "`,`",
                                                "`:`",
                                                "`=`",
                                                "`->`",
                                                "`..`",
                                                "`.`",
                                                "`+`",
                                                "`-`",
                                                "`*`",
                                                "`/`",
                                                "`%`",
                                                "`<`",
                                                "`>`",
                                                "`<=`",
                                                "`>=`",
                                                "`==`",
                                                "`!=`",
                                                "a whole number",
                                                "a number",
                                                "a string",
                                                "a string",
                                                "a name",
                                                "the end of the line",
                                                "a comment",
                                                "a space",
                                                "a character",
                                                "the end of the file"};
  return kTexts[static_cast<std::size_t>(terminal)];
}

bool is_reserved(std::string_view word) {
  return std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved);
}

void report_syntax_error(const SyntaxError& error, FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  Span at{file, error.at.begin, error.at.end};
  std::string word(sources.text(at));
  if (error.at.type == Terminal::bad_string) {
    diagnostics.error("E0103", at, "this string is never closed").help("close it with `\"` on the same line");
    return;
  }
  if (error.at.type == Terminal::bad_char) {
    diagnostics.error("E0104", at, "a program cannot hold the character `" + word + "`");
    return;
  }
  bool wants_name = contains(error.expected, Terminal::id) && !contains(error.expected, Terminal::integer);
  if (wants_name && is_keyword(error.at.type) && error.rule != Rule::block && error.rule != Rule::settings) {
    report_keyword(at, word, diagnostics);
    return;
  }
  if (error.at.type == Terminal::newline || error.at.type == Terminal::end) {
    // Point behind the last word, not at the line end.
    at = {file, error.before.end, error.before.end};
  }
  std::vector<std::string> words = expected_words(error.expected);
  std::string wanted = words.empty() || words.size() > 4 ? "" : joined(words);
  std::string here = found(error, {file, error.at.begin, error.at.end}, sources);
  if (wanted.empty()) {
    std::string what = error.at.type == Terminal::newline ? "the line ends too early"
                       : error.at.type == Terminal::end   ? "the file ends too early"
                                                          : "`" + word + "` cannot stand here";
    Diagnostic& message = diagnostics.error("E0101", at, what);
    if (error.at.type == Terminal::rbrace || error.at.type == Terminal::rparen || error.at.type == Terminal::rbracket) {
      message.label("closes nothing here");
    }
    return;
  }
  diagnostics.error("E0101", at, "expected " + wanted + ", but " + here).label("expected " + wanted);
}

}  // namespace rlflow
