// What the Unicode standard (15.0) says of text: characters, classes, normal forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rlflow {

// The character at byte `at` of valid UTF-8, which moves behind it.
std::uint32_t next_character(std::string_view text, std::size_t& at);
void append_character(std::string& text, std::uint32_t character);

bool is_letter(std::uint32_t character);       // \p{L}
bool is_number(std::uint32_t character);       // \p{N}
bool is_white_space(std::uint32_t character);  // the property White_Space
bool is_word(std::uint32_t character);         // \w: letters, marks, digits, connectors

// Appends `bytes` to `text` as valid UTF-8. What is none becomes U+FFFD, one for each longest part that could begin a
// character (Unicode 15.0, section 3.9, as Python's errors="replace"). Unless `last`, bytes at the end that may begin a
// character are left. Returns how many bytes were taken.
std::size_t append_valid_utf8(std::string& text, std::string_view bytes, bool last);
std::string valid_utf8(std::string_view bytes);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
std::string normal_form(std::string_view text, NormalForm form);  // of valid UTF-8
std::string lowercase(std::string_view text);                     // each character alone, without context

}  // namespace rlflow
