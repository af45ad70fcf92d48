// Tokens that are found in a text before anything else is done with it: special ones and words that were added.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nodes/format/text_normalizer.h"

namespace rlflow {

struct AddedToken {
  std::int32_t id = -1;
  std::string content;
  bool single_word = false;                      // not beside a letter or digit
  bool strip_left = false, strip_right = false;  // takes the white space beside it
  bool normalized = false;                       // looked for in the normalized text
  bool special = false;                          // a control token
};

// Bytes begin .. end of a text: token `id`, or (-1) text between tokens.
struct TextSection {
  std::size_t begin = 0, end = 0;
  std::int32_t id = -1;
};

// Byte ranges of a text that may write control tokens, in order.
using ControlRanges = std::vector<std::pair<std::size_t, std::size_t>>;

// A set of texts to look for: leftmost first, then longest. Immutable; any number of threads may use it.
class AddedTokens {
 public:
  AddedTokens() = default;
  // Those of `tokens` with this `normalized`; if true, each is looked for as `steps` write it.
  AddedTokens(const std::vector<AddedToken>& tokens, bool normalized, const std::vector<NormalizerStep>& steps);

  // All of `text` as tokens and what is between them. A special token, or one of `names`, is one only within a range of
  // `control`; elsewhere its name is text, in which no other token is looked for.
  std::vector<TextSection> find(std::string_view text, const ControlRanges& control,
                                std::span<const std::string> names) const;

 private:
  const AddedToken* longest_at(std::string_view text, std::size_t at, std::size_t* length) const;

  std::map<std::string, AddedToken, std::less<>> by_text_;
  std::array<std::vector<std::size_t>, 256> lengths_;  // of the texts that begin with a byte, longest first
};

}  // namespace rlflow
