// The alternatives of each pattern, in its order.
#include "nodes/format/word_scanner.h"

#include "nodes/format/unicode_text.h"

namespace rlflow {

const std::string_view kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

constexpr std::string_view kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

class Scanner {
 public:
  Scanner(std::string_view text, std::size_t begin) : text_(text), begin_(begin) {}

  std::size_t gpt2() const {
    if (const std::size_t end = contraction(false)) return end;
    const std::size_t body = text_[begin_] == ' ' ? begin_ + 1 : begin_;
    if (body < text_.size()) {
      std::size_t after = body;
      const std::uint32_t first = next_character(text_, after);
      if (is_letter(first)) return run(after, is_letter);
      if (is_number(first)) return run(after, is_number);
      if (is_symbol(first)) return run(after, is_symbol);
    }
    return white_space(false);
  }

  std::size_t llama3(int most_digits) const {
    if (const std::size_t end = contraction(true)) return end;
    std::size_t after = begin_;
    const std::uint32_t first = next_character(text_, after);
    if (is_letter(first)) return run(after, is_letter);
    if (is_number(first)) return digits(after, most_digits);
    if (first != '\r' && first != '\n' && after < text_.size()) {
      std::size_t body = after;
      const std::uint32_t second = next_character(text_, body);
      if (is_letter(second)) return run(body, is_letter);
      if (first == ' ' && is_symbol(second)) return line_ends(run(body, is_symbol));
    }
    if (is_symbol(first)) return line_ends(run(after, is_symbol));
    return white_space(true);
  }

 private:
  static bool is_symbol(std::uint32_t c) { return !is_white_space(c) && !is_letter(c) && !is_number(c); }
  static bool is_line_end(char c) { return c == '\r' || c == '\n'; }

  std::size_t run(std::size_t at, bool (*belongs)(std::uint32_t)) const {
    while (at < text_.size()) {
      std::size_t after = at;
      if (!belongs(next_character(text_, after))) break;
      at = after;
    }
    return at;
  }

  std::size_t digits(std::size_t at, int most) const {
    for (int count = 1; count < most && at < text_.size(); ++count) {
      std::size_t after = at;
      if (!is_number(next_character(text_, after))) break;
      at = after;
    }
    return at;
  }

  std::size_t line_ends(std::size_t at) const {
    while (at < text_.size() && is_line_end(text_[at])) ++at;
    return at;
  }

  // 's 't 're 've 'm 'll 'd; 0 where there is none. Without case U+017F is an s too.
  std::size_t contraction(bool any_case) const {
    if (text_[begin_] != '\'') return 0;
    const std::string_view rest = text_.substr(begin_ + 1, 2);
    if (any_case && rest == "\xc5\xbf") return begin_ + 3;
    auto letter = [&](std::size_t i) {
      const char c = i < rest.size() ? rest[i] : '\0';
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    switch (letter(0)) {
      case 's':
      case 't':
      case 'm':
      case 'd': return begin_ + 2;
      case 'r':
      case 'v': return letter(1) == 'e' ? begin_ + 3 : 0;
      case 'l': return letter(1) == 'l' ? begin_ + 3 : 0;
      default: return 0;
    }
  }

  // \s*[\r\n]+ where lines count, then \s+(?!\S), then \s+: up to the last line end of the run; else all of a run at
  // the end of the text; else all but its last character, which goes to the next word; else that character.
  std::size_t white_space(bool lines) const {
    std::size_t end = begin_, before_last = begin_, line_end = 0;
    while (end < text_.size()) {
      std::size_t after = end;
      if (!is_white_space(next_character(text_, after))) break;
      if (is_line_end(text_[end])) line_end = after;
      before_last = end;
      end = after;
    }
    if (lines && line_end > 0) return line_end;
    return end == text_.size() || before_last == begin_ ? end : before_last;
  }

  std::string_view text_;
  std::size_t begin_;
};

}  // namespace

std::optional<WordRule> word_rule_of(std::string_view pattern) {
  if (pattern == kGpt2Words) return WordRule::gpt2;
  if (pattern == kLlama3Words) return WordRule::llama3;
  if (pattern == kQwen2Words) return WordRule::qwen2;
  return std::nullopt;
}

std::size_t word_end(WordRule rule, std::string_view text, std::size_t begin) {
  const Scanner scanner(text, begin);
  switch (rule) {
    case WordRule::gpt2: return scanner.gpt2();
    case WordRule::llama3: return scanner.llama3(3);
    case WordRule::qwen2: return scanner.llama3(1);
  }
  return text.size();
}

}  // namespace rlflow
