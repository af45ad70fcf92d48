// What must hold of every tokenizer.json and every text.
#pragma once

#include <string>

namespace rlflow::testing {

// `input`: a tokenizer.json, a zero byte, a text. The file is refused or makes a tokenizer; of that one, ids are in
// range and the same twice, texts are valid UTF-8, and a stream gives what decoding gives. Empty: all held.
std::string broken_tokenizer_property(const std::string& input);

}  // namespace rlflow::testing
