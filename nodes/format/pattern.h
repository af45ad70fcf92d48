// Regular expressions, as PCRE2 knows them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rlflow {

enum class PatternAnswer {
  yes,
  no,
  too_long,  // the match took more steps than it may: nothing is known
};

// Bytes begin .. end of a text.
struct PatternMatch {
  std::size_t begin = 0, end = 0;
};

// Immutable: any number of threads may ask it. Text and pattern are UTF-8; bytes that are none match nothing.
class Pattern {
 public:
  // Throws FormatError saying what is wrong with the pattern, and at which byte.
  explicit Pattern(const std::string& pattern);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  PatternAnswer found_in(std::string_view text) const;
  PatternAnswer matches_whole(std::string_view text) const;

  // The first match that begins at byte `from` or later. `text` is valid UTF-8 and is read only once, so that all
  // matches of a long text are found in linear time. Throws FormatError where a match takes more steps than it may.
  std::optional<PatternMatch> find_from(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> found_, whole_, valid_;  // valid_: trusts that the text is UTF-8
};

}  // namespace rlflow
