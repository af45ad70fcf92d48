// A word pattern of a tokenizer.json, as PCRE2 reads it the same.
#pragma once

#include <string>
#include <string_view>

namespace rlflow {

// Tokenizers are made with Oniguruma's patterns, whose classes and flags are not all PCRE2's. White space is written
// out (PCRE2's \s has U+180E too); what the two read differently is refused: throws FormatError that quotes it.
std::string pcre2_word_pattern(std::string_view pattern);

}  // namespace rlflow
