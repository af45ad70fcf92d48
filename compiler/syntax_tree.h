// The language-neutral half of parsing: tokens and phrases as plain data, numbered as in grammar/RlFlow.g4.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rlflow {

// In the order of the grammar's lexer rules; parse.cc proves that the numbers agree.
enum class Terminal : std::uint8_t {
  none,
  k_import,
  k_param,
  k_group,
  k_model,
  k_replica,
  k_data,
  k_reward,
  k_flow,
  k_sync,
  k_every,
  k_stop,
  k_on,
  k_when,
  k_in,
  k_as,
  k_and,
  k_or,
  k_not,
  k_true,
  k_false,
  k_rlflow,
  k_at,
  k_start,
  k_after,
  k_lag,
  k_step,
  k_steps,
  lparen,
  rparen,
  lbracket,
  rbracket,
  lbrace,
  rbrace,
  comma,
  colon,
  assign,
  arrow,
  range,
  dot,
  plus,
  minus,
  times,
  divide,
  modulo,
  less,
  greater,
  less_equal,
  greater_equal,
  equal,
  not_equal,
  integer,
  real,
  string,
  bad_string,
  id,
  newline,
  comment,
  space,
  bad_char,
  end,
};

// In the order of the grammar's parser rules.
enum class Rule : std::uint8_t {
  file,
  header,
  decl,
  domain,
  index,
  block,
  stmt,
  count,
  steps,
  output,
  type,
  settings,
  setting,
  value,
  call,
  arg,
  expr,
  qname,
  name,
  word,
};

struct Lexeme {
  Terminal type = Terminal::none;
  std::uint32_t begin = 0;  // bytes
  std::uint32_t end = 0;    // equal to begin: put in by the compiler to mend the brackets
};

// A phrase (children) or a token of one (leaf).
struct SyntaxNode {
  bool is_leaf = false;
  Rule rule = Rule::file;
  Terminal terminal = Terminal::none;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool broken = false;  // a declaration, statement or setting, or a settings block, with a syntax error in it
  std::vector<SyntaxNode> children;

  const SyntaxNode* child(Rule r) const {
    for (const SyntaxNode& c : children) {
      if (!c.is_leaf && c.rule == r) return &c;
    }
    return nullptr;
  }
  const SyntaxNode* token(Terminal t) const {
    for (const SyntaxNode& c : children) {
      if (c.is_leaf && c.terminal == t) return &c;
    }
    return nullptr;
  }
};

struct SyntaxError {
  Lexeme at;                       // the token that does not fit
  Lexeme before;                   // the one in front of it
  Lexeme earlier;                  // the one in front of that
  Lexeme next;                     // the one behind it
  Lexeme first;                    // the first of its declaration or statement, else of its line
  std::vector<Terminal> expected;  // what could stand there
  Rule rule = Rule::file;          // in what phrase
};

struct SyntaxTree {
  SyntaxNode root;
  std::vector<SyntaxError> errors;
  std::vector<Lexeme> unread;  // the words that were passed over: any of them may be a name that is defined there
};

// Every token, white space and comments included; the last is `end`.
std::vector<Lexeme> lex(std::string_view text);
// Tokens without white space and comments, newlines inside brackets gone, ending in `end`. The root's
// rule is `start`: file, or value.
SyntaxTree parse_lexemes(const std::vector<Lexeme>& lexemes, Rule start);

// "`in`", "a name", "the end of the line"
std::string_view describe(Terminal terminal);
// Declaration words, words of the flow and those kept for later versions.
bool is_reserved(std::string_view word);

}  // namespace rlflow
