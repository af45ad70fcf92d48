// Regular expressions, as PCRE2 knows them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rlflow {

enum class PatternAnswer {
  yes,
  no,
  too_long,  // the match took more steps than it may: nothing is known
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

 private:
  struct Compiled;
  std::unique_ptr<Compiled> found_, whole_;
};

}  // namespace rlflow
