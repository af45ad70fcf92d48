// What stands around the cursor? Read from tokens alone, so that half-written lines have an answer too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/parse.h"

namespace rlflow::lsp {

enum class Bracket {
  block,     // { } of a flow or of `every`
  settings,  // { } of a declaration or a statement
  set,       // { } behind `in`
  call,      // ( )
  index,     // [ ]
};

// A bracket that is open at the cursor.
struct Frame {
  Bracket bracket = Bracket::call;
  std::size_t open = 0;    // index of the bracket among the tokens
  std::size_t item = 0;    // index of the first token of the argument or setting that the cursor is in
  std::size_t commas = 0;  // before the cursor
  bool is_every = false;   // of a block
};

// One argument of a call as written so far: `traj` or `old=old`.
struct GivenArgument {
  std::string name;   // empty where it is positional
  std::string value;  // a dotted name; empty where it is anything else
};

struct WrittenCall {
  std::string callee;
  std::string text;  // of a string that is its first argument
  std::vector<GivenArgument> arguments;
};

// Borrows the text.
class Cursor {
 public:
  // The word that holds or ends at the byte is being written; what stands before it is read.
  Cursor(std::string_view text, std::uint32_t byte);

  bool in_comment() const { return in_comment_; }
  bool in_string() const { return in_string_; }
  // What is being written: a dotted name, or the inside of a string.
  std::uint32_t word_begin() const { return word_begin_; }
  std::uint32_t word_end() const { return word_end_; }
  std::string_view word() const { return text_.substr(word_begin_, word_end_ - word_begin_); }

  const std::vector<Frame>& frames() const { return frames_; }
  const Frame* top() const { return frames_.empty() ? nullptr : &frames_.back(); }
  bool in_flow() const;   // somewhere inside a flow's block
  bool in_every() const;  // somewhere inside an `every` block

  // Token number `back` before the cursor (0: the one just before), or "" beyond the start of its statement.
  std::string_view before(std::size_t back) const;
  bool opens_file() const;  // no word stands before
  bool starts_statement() const { return statement_ == tokens_.size(); }
  bool starts_item() const { return !frames_.empty() && frames_.back().item == tokens_.size(); }
  std::string_view statement_word(std::size_t number) const;  // "" behind the cursor
  bool statement_has(std::string_view word) const;            // outside its brackets
  // The name of the setting or argument whose value the cursor is in: `kl` in `kl = |`. Empty where there is none.
  std::string item_name(const Frame& frame) const;
  std::vector<std::string> settings_given(const Frame& frame) const;
  std::uint32_t statement_begin() const;

  // The call whose parenthesis this is, with what the text holds behind the cursor too.
  WrittenCall call_at(std::size_t open) const;
  // The call of the statement or declaration: behind its `=`, or at its start. Its callee is empty where there is none.
  WrittenCall statement_call() const;

 private:
  void find_word(std::uint32_t byte, const std::vector<Token>& all);
  void read_token(std::size_t number);
  void open_bracket(std::size_t number, char symbol);
  void close_bracket(std::size_t number, char symbol);
  bool begins_declaration(std::size_t number) const;
  std::string_view text_of(const Token& token) const { return text_.substr(token.begin, token.end - token.begin); }
  std::string_view token(std::size_t number) const;
  std::string dotted_name_before(std::size_t number) const;
  std::vector<GivenArgument> arguments_behind(std::size_t open) const;

  std::string_view text_;
  std::vector<Token> tokens_;  // before the word; no comments
  std::vector<Token> all_;     // of the whole text; no comments
  std::vector<Frame> frames_;
  std::size_t statement_ = 0;  // index of its first token
  std::uint32_t word_begin_ = 0;
  std::uint32_t word_end_ = 0;
  bool in_comment_ = false;
  bool in_string_ = false;
};

}  // namespace rlflow::lsp
