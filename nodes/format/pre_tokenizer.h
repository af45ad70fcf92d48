// How a normalized text is cut into the pieces that are tokenised each alone.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/pattern.h"
#include "nodes/format/word_scanner.h"

namespace rlflow {

// What becomes of the text that a pattern matches: a piece of its own, nothing, or a part of the piece beside it.
enum class SplitBehavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };

struct PreTokenizerStep {
  enum class Kind { split, digits, byte_level, metaspace };
  enum class Prefix { always, first, never };  // first: only a piece with which the whole text begins

  Kind kind = Kind::split;
  // split: by the first of these that is there
  std::optional<WordRule> words;
  std::shared_ptr<const Pattern> pattern;  // immutable; shared by copies of the step
  std::string literal;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
  bool individual = false;        // digits: each alone
  bool prefix_space = false;      // byte_level: a space before a piece that has none
  std::string replacement;        // metaspace: for each space
  Prefix prefix = Prefix::never;  // metaspace: where `replacement` is put before a piece
  bool split_at_space = true;     // metaspace
};

// Pieces of a text, end to end: piece i is text[ends[i-1] .. ends[i]).
struct Pieces {
  std::string text;
  std::vector<std::size_t> ends;
};

// All of `text` cut by one step after the other; no piece is empty. `at_start`: the whole text begins here.
// Throws FormatError where a pattern takes more steps than it may.
Pieces cut(const std::vector<PreTokenizerStep>& steps, std::string text, bool at_start);

}  // namespace rlflow
