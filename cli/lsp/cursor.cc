// Keeps the open brackets and the start of the statement while it reads tokens up to the cursor.
#include "cli/lsp/cursor.h"

#include <algorithm>
#include <array>

namespace rlflow::lsp {
namespace {

constexpr std::array<std::string_view, 8> kDeclarations = {"import",  "param", "group",  "model",
                                                           "replica", "data",  "reward", "flow"};

bool is_declaration(std::string_view word) {
  return std::find(kDeclarations.begin(), kDeclarations.end(), word) != kDeclarations.end();
}

bool closes(Bracket bracket, char symbol) {
  switch (bracket) {
    case Bracket::block:
    case Bracket::settings:
    case Bracket::set: return symbol == '}';
    case Bracket::call: return symbol == ')';
    case Bracket::index: return symbol == ']';
  }
  return false;
}

}  // namespace

Cursor::Cursor(std::string_view text, std::uint32_t byte) : text_(text), word_begin_(byte), word_end_(byte) {
  const std::vector<Token> all = tokenize(text);
  find_word(byte, all);
  for (const Token& token : all) {
    if (token.kind == TokenKind::comment) continue;
    all_.push_back(token);
    if (token.end <= word_begin_) tokens_.push_back(token);
  }
  if (in_string_)
    tokens_.erase(
        std::remove_if(tokens_.begin(), tokens_.end(), [&](const Token& token) { return token.end > word_begin_ - 1; }),
        tokens_.end());
  for (std::size_t i = 0; i < tokens_.size(); ++i) read_token(i);
}

// Sets what is being written: a name with its dots, the inside of a string, or nothing.
void Cursor::find_word(std::uint32_t byte, const std::vector<Token>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Token& here = all[i];
    const bool open_ended = here.kind == TokenKind::comment || text_of(here).size() < 2 || text_[here.end - 1] != '"';
    if (byte <= here.begin || byte > here.end || (byte == here.end && here.kind != TokenKind::word && !open_ended)) {
      if (byte != here.begin || here.kind != TokenKind::word) continue;
    }
    if (here.kind == TokenKind::comment) in_comment_ = true;
    if (here.kind == TokenKind::string || (here.kind == TokenKind::bad && text_[here.begin] == '"')) {
      in_string_ = true;
      word_begin_ = here.begin + 1;
      word_end_ = std::max(word_begin_, open_ended ? here.end : here.end - 1);
      return;
    }
    if (here.kind == TokenKind::word) {
      word_begin_ = here.begin;
      word_end_ = here.end;
    }
  }
  // `gsm.tr` is one name.
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (text_of(all[i]) == "." && all[i].end == word_begin_ && all[i - 1].kind == TokenKind::word &&
          all[i - 1].end == all[i].begin) {
        word_begin_ = all[i - 1].begin;
        grown = true;
      }
    }
  }
}

// `model x =`, `flow x {` at the start of a line: whatever bracket is still open was left so by mistake.
bool Cursor::begins_declaration(std::size_t number) const {
  if (!is_declaration(token(number)) || number + 2 >= tokens_.size()) return false;
  std::string_view third = token(number + 2);
  return tokens_[number + 1].kind == TokenKind::word && (third == "=" || third == ":" || third == "{");
}

void Cursor::read_token(std::size_t number) {
  const Token& here = tokens_[number];
  if (here.kind == TokenKind::newline) {
    if (begins_declaration(number + 1)) frames_.clear();
    if (frames_.empty() || frames_.back().bracket == Bracket::block) {
      statement_ = number + 1;
    } else if (frames_.back().bracket == Bracket::settings) {
      frames_.back().item = number + 1;
    }
    return;
  }
  if (here.kind != TokenKind::symbol) return;
  std::string_view symbol = text_of(here);
  if (symbol == "(" || symbol == "[" || symbol == "{") return open_bracket(number, symbol[0]);
  if (symbol == ")" || symbol == "]" || symbol == "}") return close_bracket(number, symbol[0]);
  if (symbol == "," && !frames_.empty()) {
    frames_.back().item = number + 1;
    ++frames_.back().commas;
  }
}

void Cursor::open_bracket(std::size_t number, char symbol) {
  Frame frame;
  frame.open = number;
  frame.item = number + 1;
  if (symbol == '(') frame.bracket = Bracket::call;
  if (symbol == '[') frame.bracket = Bracket::index;
  if (symbol == '{') {
    bool outer = frames_.empty() || frames_.back().bracket == Bracket::block;
    std::string_view head = statement_ < number ? token(statement_) : "";
    frame.is_every = outer && !frames_.empty() && head == "every";
    bool is_block = outer && (head == "flow" || frame.is_every);
    bool is_set = number > 0 && token(number - 1) == "in";
    frame.bracket = is_block ? Bracket::block : is_set ? Bracket::set : Bracket::settings;
    if (is_block) statement_ = number + 1;
  }
  frames_.push_back(frame);
}

void Cursor::close_bracket(std::size_t number, char symbol) {
  // A bracket that was never closed ends with the one around it.
  auto opener =
      std::find_if(frames_.rbegin(), frames_.rend(), [&](const Frame& frame) { return closes(frame.bracket, symbol); });
  if (opener == frames_.rend()) return;
  bool was_block = opener->bracket == Bracket::block;
  frames_.erase(opener.base() - 1, frames_.end());
  if (was_block) statement_ = number + 1;
}

bool Cursor::opens_file() const {
  return std::none_of(tokens_.begin(), tokens_.end(), [](const Token& token) { return token.kind == TokenKind::word; });
}

bool Cursor::in_flow() const {
  return std::any_of(frames_.begin(), frames_.end(), [](const Frame& f) { return f.bracket == Bracket::block; });
}

bool Cursor::in_every() const {
  return std::any_of(frames_.begin(), frames_.end(), [](const Frame& f) { return f.is_every; });
}

std::string_view Cursor::token(std::size_t number) const {
  return number < tokens_.size() ? text_of(tokens_[number]) : std::string_view();
}

std::string_view Cursor::before(std::size_t back) const {
  if (back >= tokens_.size() || tokens_.size() - 1 - back < statement_) return {};
  return token(tokens_.size() - 1 - back);
}

std::string_view Cursor::statement_word(std::size_t number) const { return token(statement_ + number); }

bool Cursor::statement_has(std::string_view word) const {
  int depth = 0;
  for (std::size_t i = statement_; i < tokens_.size(); ++i) {
    std::string_view text = token(i);
    if (text == "(" || text == "[" || text == "{") ++depth;
    if (text == ")" || text == "]" || text == "}") --depth;
    if (depth == 0 && text == word) return true;
  }
  return false;
}

std::string Cursor::item_name(const Frame& frame) const {
  // `lora(…)` in a block of settings is a value of the setting `lora`.
  const bool call = frame.bracket == Bracket::settings && token(frame.item + 1) == "(";
  return call || token(frame.item + 1) == "=" ? std::string(token(frame.item)) : std::string();
}

std::vector<std::string> Cursor::settings_given(const Frame& frame) const {
  std::vector<std::string> names;
  int depth = 0;
  bool starts = true;
  std::size_t first = 0;
  while (first < all_.size() && all_[first].begin < tokens_[frame.open].end) ++first;
  for (std::size_t i = first; i < all_.size() && depth >= 0; ++i) {
    std::string_view text = text_of(all_[i]);
    bool separates = depth == 0 && (text == "," || all_[i].kind == TokenKind::newline);
    if (starts && all_[i].kind == TokenKind::word && all_[i].begin != word_begin_) names.emplace_back(text);
    starts = separates;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if (text == ")" || text == "]" || text == "}") --depth;
  }
  return names;
}

std::uint32_t Cursor::statement_begin() const {
  return statement_ < tokens_.size() ? tokens_[statement_].begin : word_begin_;
}

std::string Cursor::dotted_name_before(std::size_t number) const {
  std::string name;
  for (std::size_t i = number; i-- > 0;) {
    bool fits = tokens_[i].kind == TokenKind::word ? name.empty() || name.front() == '.' : token(i) == ".";
    if (!fits || (tokens_[i].kind != TokenKind::word && name.empty())) break;
    name = std::string(token(i)) + name;
  }
  return name;
}

std::vector<GivenArgument> Cursor::arguments_behind(std::size_t open) const {
  std::vector<GivenArgument> arguments;
  std::vector<std::string> item;
  int depth = 0;
  std::size_t first = 0;
  while (first < all_.size() && all_[first].begin < tokens_[open].end) ++first;
  const auto finish = [&] {
    GivenArgument argument;
    if (item.size() > 1 && item[1] == "=") {
      argument.name = item[0];
      item.erase(item.begin(), item.begin() + 2);
    }
    bool plain = std::all_of(item.begin(), item.end(), [](const std::string& part) {
      return part == "." || part.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
                                std::string::npos;
    });
    for (const std::string& part : item) argument.value += plain ? part : "";
    if (!item.empty() || !argument.name.empty()) arguments.push_back(std::move(argument));
    item.clear();
  };
  for (std::size_t i = first; i < all_.size(); ++i) {
    std::string_view text = text_of(all_[i]);
    if (text == "(" || text == "[") ++depth;
    if (text == ")" || text == "]") --depth;
    if (depth < 0 || all_[i].kind == TokenKind::newline) break;
    if (depth == 0 && text == ",") {
      finish();
    } else {
      item.emplace_back(text);
    }
  }
  finish();
  return arguments;
}

WrittenCall Cursor::call_at(std::size_t open) const {
  WrittenCall call;
  call.callee = dotted_name_before(open);
  for (const Token& next : all_) {
    if (next.begin < tokens_[open].end) continue;
    if (next.kind == TokenKind::string) call.text = text_.substr(next.begin + 1, next.end - next.begin - 2);
    break;
  }
  call.arguments = arguments_behind(open);
  return call;
}

WrittenCall Cursor::statement_call() const {
  for (std::size_t i = statement_; i < tokens_.size(); ++i) {
    if (token(i) == "{") break;
    if (token(i) == "(") return call_at(i);
  }
  return {};
}

}  // namespace rlflow::lsp
