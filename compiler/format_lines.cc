// Where lines end, and how many spaces stand between two tokens.
#include <algorithm>

#include "compiler/format_parts.h"

namespace rlflow {
namespace {

bool is_brace(TokenRole role) {
  return role == TokenRole::block_brace || role == TokenRole::settings_brace || role == TokenRole::set_brace;
}

// A bracket that is open where the breaker stands.
struct Open {
  TokenRole role = TokenRole::plain;  // plain: ( or [
  bool lines = false;                 // its content stands on lines of its own
};

class LineBreaker {
 public:
  LineBreaker(const std::vector<Lexeme>& lexemes, const TokenRoles& roles, std::string_view text)
      : roles_(roles), text_(text) {
    for (const Lexeme& lexeme : lexemes) {
      if (lexeme.type != Terminal::space && lexeme.type != Terminal::end) tokens_.push_back(lexeme);
    }
  }

  std::vector<FormattedLine> run() {
    int newlines = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].type == Terminal::newline) {
        ++newlines;
        continue;
      }
      add(i, newlines);
      newlines = 0;
    }
    finish_line();
    return std::move(lines_);
  }

 private:
  void add(std::size_t i, int newlines) {
    const Lexeme& token = tokens_[i];
    if (token.type == Terminal::comment) return add_comment(token, newlines);
    TokenRole role = roles_.of(token);
    bool closes = token.type == Terminal::rparen || token.type == Terminal::rbracket || token.type == Terminal::rbrace;
    // Commas between settings and in domains are written anew where they are needed.
    if (token.type == Terminal::comma && in_settings()) return;
    bool break_here = must_break_ || needs_break(token, newlines, closes);
    if (closes) open_.pop_back();
    if (break_here) {
      finish_line();
      start_line(token, newlines, closes);
    }
    append(token, role);
    if (token.type == Terminal::lparen || token.type == Terminal::lbracket) open_.push_back({});
    if (token.type == Terminal::lbrace) {
      open_.push_back({role, stands_on_lines(i)});
      must_break_ = open_.back().lines;
    }
    previous_ = token;
    previous_role_ = role;
  }

  bool in_settings() const { return !open_.empty() && open_.back().role == TokenRole::settings_brace; }

  bool needs_break(const Lexeme& token, int newlines, bool closes) const {
    if (open_.empty()) return newlines > 0;
    const Open& inner = open_.back();
    if (inner.role == TokenRole::plain) return newlines > 0;
    if (inner.role == TokenRole::set_brace) return false;
    if (closes) return inner.lines;
    if (inner.role == TokenRole::block_brace) return newlines > 0 && inner.lines;
    return inner.lines && roles_.settings.count(token.begin) > 0;
  }

  // A brace stands on lines if it was opened with a newline, or holds what needs lines: a comment, a
  // second statement, another brace that stands on lines.
  bool stands_on_lines(std::size_t open) const {
    if (roles_.of(tokens_[open]) == TokenRole::set_brace) return false;
    if (open + 1 < tokens_.size() && tokens_[open + 1].type == Terminal::newline) return true;
    bool block = roles_.of(tokens_[open]) == TokenRole::block_brace;
    int depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      TokenRole role = roles_.of(tokens_[i]);
      if (tokens_[i].type == Terminal::lbrace) ++depth;
      if (tokens_[i].type == Terminal::rbrace && --depth == 0) return false;
      if (tokens_[i].type == Terminal::comment) return true;
      bool opened = i > open && tokens_[i].type == Terminal::lbrace && tokens_[i + 1].type == Terminal::newline;
      if (opened && is_brace(role) && role != TokenRole::set_brace) return true;
      bool separates = block && depth == 1 && tokens_[i].type == Terminal::newline;
      if (separates && next_visible(i) != Terminal::rbrace && !in_parens(open, i)) return true;
    }
    return false;
  }

  Terminal next_visible(std::size_t i) const {
    while (i < tokens_.size() && tokens_[i].type == Terminal::newline) ++i;
    return i < tokens_.size() ? tokens_[i].type : Terminal::end;
  }

  bool in_parens(std::size_t from, std::size_t to) const {
    int depth = 0;
    for (std::size_t i = from; i < to; ++i) {
      Terminal t = tokens_[i].type;
      if (t == Terminal::lparen || t == Terminal::lbracket) ++depth;
      if (t == Terminal::rparen || t == Terminal::rbracket) --depth;
    }
    return depth > 0;
  }

  void add_comment(const Lexeme& token, int newlines) {
    std::string comment(text_.substr(token.begin, token.end - token.begin));
    comment.erase(comment.find_last_not_of(" \t\r") + 1);
    bool own_line = newlines > 0 || line_.text.empty();
    if (own_line) {
      finish_line();
      start_line(token, newlines, false);
      line_.item.clear();
      line_.text = comment;
    } else {
      line_.text += "  " + comment;
    }
    must_break_ = true;
    previous_ = token;
  }

  void start_line(const Lexeme& token, int newlines, bool closes) {
    line_ = {};
    for (const Open& open : open_) line_.depth += open.role == TokenRole::plain || open.lines ? 1 : 0;
    bool after_open = previous_.type == Terminal::lbrace || lines_.empty() || opened_last_;
    line_.blank_before = newlines > 1 && !closes && !after_open;
    line_.continues = closes || (!open_.empty() && open_.back().role == TokenRole::plain);
    auto item = roles_.items.find(token.begin);
    if (item != roles_.items.end()) line_.item = item->second;
    must_break_ = false;
  }

  void finish_line() {
    if (line_.text.empty()) return;
    opened_last_ = previous_.type == Terminal::lbrace || (previous_.type == Terminal::comment && ends_with_open_);
    lines_.push_back(line_);
    line_ = {};
  }

  void append(const Lexeme& token, TokenRole role) {
    std::string_view word = text_.substr(token.begin, token.end - token.begin);
    if (!line_.text.empty()) {
      bool separate = roles_.settings.count(token.begin) > 0 && in_settings() && previous_.type != Terminal::lbrace;
      bool set_comma = !open_.empty() && open_.back().role == TokenRole::set_brace && needs_set_comma(token);
      if (separate || set_comma) line_.text += ",";
      if (separate || set_comma || space_between(token, role)) line_.text += " ";
    }
    if (role == TokenRole::item_colon && line_.colon == std::string::npos) line_.colon = line_.text.size();
    if (role == TokenRole::item_sign && line_.sign == std::string::npos && !line_.item.empty())
      line_.sign = line_.text.size();
    line_.text += word;
    ends_with_open_ = token.type == Terminal::lbrace;
  }

  // Values of a set that a newline separated in the source.
  bool needs_set_comma(const Lexeme& token) const {
    if (previous_.type == Terminal::lbrace || previous_.type == Terminal::comma || token.type == Terminal::comma ||
        token.type == Terminal::rbrace) {
      return false;
    }
    std::string_view gap = text_.substr(previous_.end, token.begin - previous_.end);
    return gap.find('\n') != std::string_view::npos;
  }

  bool space_between(const Lexeme& token, TokenRole role) const {
    Terminal left = previous_.type;
    Terminal right = token.type;
    if (left == Terminal::lparen || left == Terminal::lbracket || right == Terminal::rparen ||
        right == Terminal::rbracket)
      return false;
    if (right == Terminal::comma || left == Terminal::dot || right == Terminal::dot) return false;
    if (left == Terminal::range || right == Terminal::range) return false;
    if (role == TokenRole::tight_open || role == TokenRole::argument_sign) return false;
    if (previous_role_ == TokenRole::argument_sign || previous_role_ == TokenRole::unary) return false;
    if (right == Terminal::rbrace && left == Terminal::lbrace) return false;
    if (left == Terminal::lbrace && previous_role_ == TokenRole::set_brace) return false;
    if (right == Terminal::rbrace && role == TokenRole::set_brace) return false;
    if (role == TokenRole::unit) {
      std::string_view unit = text_.substr(token.begin, token.end - token.begin);
      return unit == "tokens" || unit == "token" || unit == "seqs" || unit == "seq" || unit == "steps" ||
             unit == "step";
    }
    return true;
  }

  std::vector<Lexeme> tokens_;
  const TokenRoles& roles_;
  std::string_view text_;
  std::vector<FormattedLine> lines_;
  FormattedLine line_;
  std::vector<Open> open_;
  Lexeme previous_;
  TokenRole previous_role_ = TokenRole::plain;
  bool must_break_ = false;      // behind a comment, behind a brace that stands on lines
  bool opened_last_ = false;     // the last finished line opened a brace
  bool ends_with_open_ = false;  // the last token of the line, comments aside, is {
};

}  // namespace

std::vector<FormattedLine> break_lines(const std::vector<Lexeme>& lexemes, const TokenRoles& roles,
                                       std::string_view text) {
  return LineBreaker(lexemes, roles, text).run();
}

}  // namespace rlflow
