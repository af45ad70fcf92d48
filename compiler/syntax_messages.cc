// How is a token told that does not fit?
#include "compiler/syntax_messages.h"

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/syntax_hints.h"

namespace rlflow {
namespace {

bool is_operator(Terminal t) { return t >= Terminal::plus && t <= Terminal::not_equal; }
bool is_soft_word(Terminal t) { return t >= Terminal::k_rlflow && t <= Terminal::k_steps; }
bool is_keyword(Terminal t) { return t >= Terminal::k_import && t <= Terminal::k_false; }

bool contains(const std::vector<Terminal>& list, Terminal t) {
  return std::find(list.begin(), list.end(), t) != list.end();
}

void add_once(std::vector<std::string>& words, std::string word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
}

// What ends a statement goes without saying where something else is expected too.
std::vector<Terminal> without_ends(const SyntaxError& error) {
  std::vector<Terminal> expected = error.expected;
  bool line = contains(expected, Terminal::newline);
  std::erase_if(expected, [&](Terminal t) {
    if (error.rule == Rule::settings) return t == Terminal::newline;
    return line && (t == Terminal::end || t == Terminal::rbrace);
  });
  return expected;
}

// "a value", "a name" and the like instead of every token they could begin with.
std::vector<std::string> expected_words(const SyntaxError& error) {
  std::vector<Terminal> expected = without_ends(error);
  if (error.rule == Rule::count) return {"a whole number"};
  // Behind the source of a model, unless it is a base, which few are.
  const bool behind_source = error.first.type == Terminal::k_model && error.before.type == Terminal::rparen;
  if (behind_source && error.at.type == Terminal::id) return {"`on`"};
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

std::string found(const SyntaxPlace& place) {
  if (place.error.at.type == Terminal::newline) return "the line ends";
  if (place.error.at.type == Terminal::end) return place.is_value() ? "it ends here" : "the file ends";
  return "`" + place.text(place.error.at) + "` stands here";
}

Diagnostic& report_unexpected(const SyntaxPlace& place, Diagnostics& diagnostics) {
  const Lexeme& at = place.error.at;
  bool ends = at.type == Terminal::newline || at.type == Terminal::end;
  // Point behind the last word, not at the line end.
  Span span = ends ? Span{place.file, place.error.before.end, place.error.before.end} : place.span(at);
  std::vector<std::string> words = expected_words(place.error);
  if (!words.empty() && words.size() <= 4) {
    std::string wanted = joined(words);
    return diagnostics.error("E0101", span, "expected " + wanted + ", but " + found(place)).label("expected " + wanted);
  }
  std::string what = at.type == Terminal::newline ? "the line ends too early"
                     : at.type == Terminal::end   ? (place.is_value() ? "it ends too early" : "the file ends too early")
                                                  : "`" + place.text(at) + "` cannot stand here";
  return diagnostics.error("E0101", span, what);
}

}  // namespace

void report_syntax_error(const SyntaxError& error, FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  SyntaxPlace place{error, file, sources};
  if (report_known_mistake(place, diagnostics)) return;
  bool wants_name = contains(error.expected, Terminal::id) && !contains(error.expected, Terminal::integer);
  if (wants_name && is_keyword(error.at.type) && error.rule != Rule::block && error.rule != Rule::settings) {
    std::string word = place.text(error.at);
    diagnostics.error("E0110", place.span(error.at), "`" + word + "` is a word of the language and cannot be a name")
        .help("choose another name, e.g. `" + word + "_1`");
    return;
  }
  advise_on_syntax(place, report_unexpected(place, diagnostics));
}

}  // namespace rlflow
