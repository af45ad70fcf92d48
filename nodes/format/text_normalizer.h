// What a tokenizer does to a text before it looks for words, as the normalizer of tokenizer.json says.
#pragma once

#include <string>
#include <vector>

#include "nodes/format/unicode_text.h"

namespace rlflow {

struct NormalizerStep {
  enum class Kind {
    form,  // a Unicode normal form
    lowercase,
    strip,    // white space off the ends
    replace,  // each `pattern`, a text, by `content`
    prepend,  // `content` before a text that is not empty
  };
  Kind kind = Kind::form;
  NormalForm form = NormalForm::nfc;
  bool left = false, right = false;
  std::string pattern, content;
};

std::string normalized(const std::vector<NormalizerStep>& steps, std::string text);  // of valid UTF-8

std::string replaced(std::string_view text, std::string_view pattern, std::string_view content);

}  // namespace rlflow
