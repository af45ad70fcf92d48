// One pass over the pattern, with the places that mean something else in a class.
#include "nodes/format/word_pattern.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "nodes/format/format_error.h"
#include "nodes/format/json.h"

namespace rlflow {
namespace {

constexpr std::string_view kSpace = R"(\t-\r\x{85}\p{Z})";  // White_Space

class Rewriter {
 public:
  explicit Rewriter(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const std::size_t begin = at_;
      step();
      if (at_ > begin) made_ += pattern_.substr(begin, at_ - begin);
      at_ = std::max(at_, next_);
    }
    return std::move(made_);
  }

 private:
  [[noreturn]] void refuse(std::size_t length) const {
    throw FormatError("the pattern " + json_quoted(pattern_) + " has " + json_quoted(pattern_.substr(at_, length)) +
                      " at byte " + std::to_string(at_) + ", which is not supported in a word pattern");
  }

  // Writes `text` for the next `length` bytes.
  void replace(std::size_t length, const std::string& text) {
    made_ += text;
    next_ = at_ + length;
  }

  // Moves at_ over what is kept, or leaves it and says in next_ where to go on.
  void step() {
    const char c = pattern_[at_];
    if (c == '\\') return escape();
    if (in_class_) {
      if (c == '[' || (c == '&' && pattern_.substr(at_).starts_with("&&"))) refuse(2);
      if (c == ']' && at_ > class_begin_) in_class_ = false;
    } else if (c == '[') {
      in_class_ = true;
      class_begin_ = at_ + (pattern_.substr(at_).starts_with("[^") ? 2 : 1);
      at_ = class_begin_;
      return;
    } else if (c == '(') {
      group();
    } else if (c == '^' || c == '$') {
      refuse(1);  // of a line there, of the text here
    } else if (c == '}' && pattern_.substr(at_).starts_with("}+")) {
      refuse(2);  // possessive only here
    }
    ++at_;
  }

  void group() const {
    const std::string_view rest = pattern_.substr(at_);
    if (!rest.starts_with("(?")) return rest.starts_with("(*") ? refuse(2) : void();
    constexpr std::array<std::string_view, 7> kKnown = {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"};
    if (std::none_of(kKnown.begin(), kKnown.end(), [&](std::string_view known) { return rest.starts_with(known); })) {
      refuse(3);
    }
  }

  void escape() {
    const char name = at_ + 1 < pattern_.size() ? pattern_[at_ + 1] : '\0';
    if (name == 's' && in_class_) return replace(2, std::string(kSpace));
    if (name == 's') return replace(2, "[" + std::string(kSpace) + "]");
    if (name == 'S' && !in_class_) return replace(2, "[^" + std::string(kSpace) + "]");
    const bool sign = static_cast<unsigned char>(name) < 0x80 && std::ispunct(static_cast<unsigned char>(name)) != 0;
    constexpr std::string_view kSame = "pPdDrntx";
    if (!sign && (name == '\0' || kSame.find(name) == std::string_view::npos)) refuse(2);
    at_ += 2;
    const std::size_t end =
        at_ < pattern_.size() && pattern_[at_] == '{' ? pattern_.find('}', at_) : std::string_view::npos;
    if (!sign && end != std::string_view::npos) at_ = end + 1;  // the name of a property or the number of a character
  }

  std::string_view pattern_;
  std::string made_;
  std::size_t at_ = 0, next_ = 0, class_begin_ = 0;
  bool in_class_ = false;
};

}  // namespace

std::string pcre2_word_pattern(std::string_view pattern) { return Rewriter(pattern).run(); }

}  // namespace rlflow
