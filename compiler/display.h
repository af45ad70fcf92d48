// How source text looks in a terminal: what is printed for each character, and how wide it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rlflow {

// A line of source as printed: tabs are four blanks, what is invisible or would steer the terminal is shown as `·`.
std::string printable_line(std::string_view line);
// The column, from 0, at which the byte of the line is printed. Wide characters take two columns, accents of their own
// none.
std::size_t printed_column(std::string_view line, std::size_t byte);
// Text of a message in one line, without what would steer the terminal: a newline is `\n`.
std::string printable_text(std::string_view text);
// The first code points of a text that has more than `most`, and "...".
std::string shortened(std::string_view text, std::size_t most);
// "`;`", or "U+00A0" for what cannot be seen.
std::string name_of_character(std::string_view character);

}  // namespace rlflow
