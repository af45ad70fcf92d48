// What did a person mean who wrote `:` for `=`, `.2` for `0.2`, `my-name` for `my_name`, `evry` for `every`?
#include "compiler/syntax_hints.h"

#include <algorithm>
#include <vector>

#include "compiler/names.h"

namespace rlflow {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_keyword(Terminal t) { return t >= Terminal::k_import && t <= Terminal::k_false; }
bool is_declaration_word(Terminal t) { return t >= Terminal::k_import && t <= Terminal::k_flow; }
bool is_word(Terminal t) { return t == Terminal::id || (t >= Terminal::k_import && t <= Terminal::k_steps); }

bool expects(const SyntaxError& error, Terminal t) {
  return std::find(error.expected.begin(), error.expected.end(), t) != error.expected.end();
}

// The word of a clause that stands in the place of `word`; empty where none is near.
std::string clause_word(const SyntaxPlace& place, const Lexeme& word) {
  const std::string written = place.text(word);
  if (written == "if" || written == "where" || written == "unless") return "when";
  std::vector<std::string> words = {"on", "when", "in", "step", "steps", "as", "and", "at", "start", "after", "lag"};
  for (Terminal t : place.error.expected) {
    std::string_view text = describe(t);
    if (t >= Terminal::k_import && t <= Terminal::k_steps) words.emplace_back(text.substr(1, text.size() - 2));
  }
  std::vector<std::string> close = written.size() < 2 ? std::vector<std::string>() : close_names(written, words);
  return close.empty() ? "" : close[0];
}

// ---- mistakes with a message of their own

// `100 inn 1..10`: the word in front is the mistake, and what follows it is not.
bool misspelt_clause(const SyntaxPlace& place, Diagnostics& diagnostics) {
  const SyntaxError& e = place.error;
  bool follows = e.before.type == Terminal::id && e.at.type != Terminal::id && e.before.begin != e.first.begin;
  bool ends = e.at.type == Terminal::newline || e.at.type == Terminal::end;
  std::string meant = follows && !ends && expects(e, Terminal::newline) ? clause_word(place, e.before) : "";
  if (meant.empty()) return false;
  diagnostics.error("E0101", place.span(e.before), "`" + place.text(e.before) + "` cannot stand here")
      .fix("did you mean `" + meant + "`?", Applicability::likely, {{place.span(e.before), meant}});
  return true;
}

// `reward : adv[B] = …`: a reserved word where a node's output is named.
bool keyword_as_output(const SyntaxPlace& place, Diagnostics& diagnostics) {
  const SyntaxError& e = place.error;
  bool names = e.at.type == Terminal::colon || e.at.type == Terminal::assign;
  if (!names || !is_keyword(e.before.type) || e.before.begin != e.first.begin) return false;
  std::string word = place.text(e.before);
  diagnostics.error("E0110", place.span(e.before), "`" + word + "` is a word of the language and cannot be a name")
      .help("choose another name, e.g. `" + word + "_1`");
  return true;
}

// `clip : 0.2`, `clip == 0.2`
bool setting_without_equals(const SyntaxPlace& place, Diagnostics& diagnostics) {
  const SyntaxError& e = place.error;
  bool colon = e.at.type == Terminal::colon || e.at.type == Terminal::equal;
  if (e.rule != Rule::settings || !colon || !is_word(e.before.type)) return false;
  diagnostics.error("E0101", place.span(e.at), "expected `=`, but `" + place.text(e.at) + "` stands here")
      .label("expected `=`")
      .fix("a setting is given by `=`", Applicability::likely, {{place.span(e.at), "="}});
  return true;
}

// `0,2`
bool comma_in_number(const SyntaxPlace& place, Diagnostics& diagnostics) {
  const SyntaxError& e = place.error;
  bool close = e.earlier.end == e.before.begin && e.before.end == e.at.begin;
  if (e.at.type != Terminal::integer || e.before.type != Terminal::comma || e.earlier.type != Terminal::integer ||
      !close)
    return false;
  std::string number = place.text(e.earlier) + "." + place.text(e.at);
  Span span{place.file, e.earlier.begin, e.at.end};
  diagnostics.error("E0101", span, "`" + place.text(e.earlier) + "," + place.text(e.at) + "` is two values")
      .label("the comma begins a new setting")
      .fix("write `" + number + "`", Applicability::likely, {{span, number}});
  return true;
}

// `{ … }` on the line behind its node's
bool settings_on_their_own(const SyntaxPlace& place, Diagnostics& diagnostics) {
  const SyntaxError& e = place.error;
  if (e.rule != Rule::block || e.at.type != Terminal::lbrace || e.before.type != Terminal::newline) return false;
  diagnostics.error("E0101", place.span(e.at), "a settings block begins on the line of its node")
      .label("begins a line")
      .fix("put the `{` behind the `)` of the node", Applicability::likely,
           {{{place.file, e.earlier.end, e.at.begin}, " "}});
  return true;
}

// `(estimator = grpo)` or `[…]` behind a node
bool settings_in_other_brackets(const SyntaxPlace& place, Diagnostics& diagnostics) {
  const SyntaxError& e = place.error;
  bool bracket = e.at.type == Terminal::lparen || e.at.type == Terminal::lbracket;
  if (!bracket || e.before.type != Terminal::rparen || e.rule != Rule::block) return false;
  diagnostics.error("E0101", place.span(e.at), "`" + place.text(e.at) + "` cannot stand behind `)`")
      .help("settings stand in `{ }`");
  return true;
}

// `let r = …`, `for i in …`, `synk policy -> …`
bool unknown_beginning(const SyntaxPlace& place, Diagnostics& diagnostics) {
  const SyntaxError& e = place.error;
  bool second = e.before.type == Terminal::id && e.before.begin == e.first.begin && e.at.type != Terminal::newline &&
                e.at.type != Terminal::end && e.rule == Rule::stmt;
  bool in_file = e.rule == Rule::file && is_word(e.at.type) && e.at.begin == e.first.begin;
  if (!second && !in_file) return false;
  const Lexeme& word = in_file ? e.at : e.before;
  const std::string written = place.text(word);
  Diagnostic& message = diagnostics.error("E0101", place.span(word),
                                          "`" + written + "` begins no " + (in_file ? "declaration" : "statement"));
  static const std::vector<std::string> kDeclarations = {"import",  "param", "group",  "model",
                                                         "replica", "data",  "reward", "flow"};
  static const std::vector<std::string> kStatements = {"sync", "every", "stop"};
  std::vector<std::string> close = close_names(written, in_file ? kDeclarations : kStatements);
  if (!close.empty()) {
    message.fix("did you mean `" + close[0] + "`?", Applicability::likely, {{place.span(word), close[0]}});
  } else if (!in_file) {
    message.note("a statement is `name = node(inputs) { settings }`, or begins with `sync`, `every` or `stop`");
  } else if (e.next.type == Terminal::assign || e.next.type == Terminal::colon || !is_word(e.next.type) ||
             e.at.type != Terminal::id) {
    message.help("nodes and schedules stand in the flow: `flow name { ... }`");
  } else {
    message.note("a declaration begins with " + quoted_list(kDeclarations));
  }
  return true;
}

// A declaration inside the flow, whose braces pair.
bool declaration_in_block(const SyntaxPlace& place, Diagnostics& diagnostics) {
  const SyntaxError& e = place.error;
  bool inside = e.rule == Rule::block || e.rule == Rule::stmt || e.rule == Rule::call;
  if (!inside || !is_declaration_word(e.first.type) || (e.at.begin != e.first.begin && e.before.begin != e.first.begin))
    return false;
  diagnostics.error("E0101", place.span(e.first), "a declaration cannot stand inside a flow")
      .label("`" + place.text(e.first) + "` declares")
      .help("move this line in front of `flow`");
  return true;
}

bool merge_conflict(const SyntaxPlace& place, Diagnostics& diagnostics) {
  const SyntaxError& e = place.error;
  const std::string& text = place.sources.file(place.file).text;
  std::string_view rest = std::string_view(text).substr(std::min<std::size_t>(e.at.begin, text.size()));
  bool mark = rest.starts_with("<<<<<<<") || rest.starts_with("=======") || rest.starts_with(">>>>>>>");
  if (!mark || e.at.begin != e.first.begin) return false;
  diagnostics.error("E0101", {place.file, e.at.begin, e.at.begin + 7}, "this line is left over from a merge")
      .help("choose one of the two versions and delete the marks");
  return true;
}

// ---- advice for the general message

bool advise_close_word(const SyntaxPlace& place, Diagnostic& message) {
  if (place.error.at.type != Terminal::id) return false;
  std::string meant = clause_word(place, place.error.at);
  if (meant.empty()) return false;
  message.fix("did you mean `" + meant + "`?", Applicability::likely, {{place.span(place.error.at), meant}});
  return true;
}

bool advise_number(const SyntaxPlace& place, Diagnostic& message) {
  const SyntaxError& e = place.error;
  if (e.at.type == Terminal::dot && e.before.type == Terminal::range) {
    message.help("a range has two dots: `1..10`");
  } else if (e.at.type == Terminal::dot && is_digit(place.at(e.at.end))) {
    message.fix("write `0" + place.text(e.at) + place.text(e.next) + "`", Applicability::likely,
                {{{place.file, e.at.begin, e.at.begin}, "0"}});
  } else if (e.at.type == Terminal::dot && e.before.type == Terminal::integer && e.before.end == e.at.begin) {
    message.fix("write `" + place.text(e.before) + ".0`", Applicability::likely,
                {{{place.file, e.at.end, e.at.end}, "0"}});
  } else if (e.before.type == Terminal::modulo) {
    message.help("`%` computes a remainder; 20 percent are `0.2`");
  } else if (e.before.type == Terminal::minus && e.earlier.type == Terminal::id && e.earlier.end == e.before.begin &&
             (place.at(e.earlier.begin) == 'e' || place.at(e.earlier.begin) == 'E')) {
    message.help("an exponent needs digits: `1e-4`");
  } else {
    return false;
  }
  return true;
}

bool advise_name(const SyntaxPlace& place, Diagnostic& message) {
  const SyntaxError& e = place.error;
  bool dash = e.at.type == Terminal::minus && is_word(e.before.type) && e.before.end == e.at.begin &&
              is_letter(place.at(e.at.end));
  if (dash) {
    std::string name = place.text(e.before) + "_" + place.text(e.next);
    message.fix("names have no `-`: `" + name + "`", Applicability::likely, {{place.span(e.at), "_"}});
    return true;
  }
  if (e.at.type == Terminal::integer && is_letter(place.at(e.at.end)) && expects(e, Terminal::id)) {
    message.help("a name begins with a letter or `_`");
    return true;
  }
  return false;
}

bool advise_sign(const SyntaxPlace& place, Diagnostic& message) {
  const SyntaxError& e = place.error;
  bool twice = e.at.type == Terminal::divide && place.at(e.at.end) == '/';
  bool line = e.at.begin == e.first.begin;
  if (twice && line) {
    message.fix("a comment begins with `#`", Applicability::likely, {{{place.file, e.at.begin, e.at.end + 1}, "#"}});
  } else if (e.at.type == Terminal::assign && e.before.type == Terminal::colon && e.before.end == e.at.begin) {
    message.fix("write `=`", Applicability::likely, {{place.span(e.before), ""}});
  } else if (e.at.type == Terminal::comma && e.rule == Rule::expr && expects(e, Terminal::rparen)) {
    message.help("a list stands in `[ ]`");
  } else if (e.at.type == Terminal::lbracket && is_word(e.before.type) && e.earlier.type == Terminal::assign) {
    message.fix("a type stands behind `:`", Applicability::guess, {{place.span(e.earlier), ":"}});
  } else if (e.at.type == Terminal::rparen || e.at.type == Terminal::rbracket || e.at.type == Terminal::rbrace) {
    if (e.rule != Rule::block && e.rule != Rule::file) return false;
    message.help("delete it, or open its partner in front of it");
  } else if (e.at.type == Terminal::string && e.before.type == Terminal::id && e.before.end == e.at.begin) {
    message.fix("strings have no prefix", Applicability::likely, {{place.span(e.before), ""}});
  } else if (e.at.type == Terminal::comma && e.before.type == Terminal::comma) {
    message.fix("one comma is enough", Applicability::safe, {{place.span(e.at), ""}});
  } else if (expects(e, Terminal::comma) && (is_word(e.at.type) || e.at.type == Terminal::string)) {
    message.fix("put a `,` in front of it", Applicability::likely, {{{place.file, e.before.end, e.before.end}, ","}});
  } else if (is_word(e.at.type) && expects(e, Terminal::newline) && e.rule == Rule::block) {
    message.help("each statement stands on a line of its own");
  } else {
    return false;
  }
  return true;
}

struct Form {
  Terminal word;
  std::string_view form;
};

constexpr Form kForms[] = {
    {Terminal::k_import, "import \"file.rlflow\" as name"},
    {Terminal::k_param, "param name : type = default in lo..hi \"what it is\""},
    {Terminal::k_group, "group name = gpu[0..4] { settings }"},
    {Terminal::k_model, "model name = load(\"folder\") on group { settings }"},
    {Terminal::k_replica, "replica name = model on group { settings }"},
    {Terminal::k_data, "data name = jsonl(\"file\") { settings }"},
    {Terminal::k_reward, "reward name = builtin(\"name\") { settings }"},
    {Terminal::k_flow, "flow name { statements }"},
    {Terminal::k_sync, "sync model -> replica every 1 step lag 0"},
    {Terminal::k_every, "every 10 steps and at start { nodes }"},
    {Terminal::k_stop, "stop after 100 steps"},
    {Terminal::k_rlflow, "rlflow 1"},
    {Terminal::id, "name : type = node(inputs) { settings }"},
};

}  // namespace

bool report_known_mistake(const SyntaxPlace& place, Diagnostics& diagnostics) {
  return keyword_as_output(place, diagnostics) || setting_without_equals(place, diagnostics) ||
         comma_in_number(place, diagnostics) || settings_on_their_own(place, diagnostics) ||
         settings_in_other_brackets(place, diagnostics) || merge_conflict(place, diagnostics) ||
         declaration_in_block(place, diagnostics) || misspelt_clause(place, diagnostics) ||
         unknown_beginning(place, diagnostics);
}

void advise_on_syntax(const SyntaxPlace& place, Diagnostic& message) {
  if (advise_close_word(place, message) || advise_number(place, message) || advise_name(place, message) ||
      advise_sign(place, message))
    return;
  if (place.is_value()) return;
  for (const Form& form : kForms) {
    if (form.word == place.error.first.type) message.note("the form is `" + std::string(form.form) + "`");
  }
}

}  // namespace rlflow
