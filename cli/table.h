// How do rows of text line up in a terminal?
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rlflow {

struct Table {
  std::vector<std::string> header;  // may be empty
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right;  // columns that end flush; those not listed begin flush
};

// Two spaces between columns, `indent` spaces in front; the last column wraps between words so that a line has at
// most `width` columns (0: never). Widths count code points.
std::string to_text(const Table& table, std::size_t indent = 0, std::size_t width = 0);

std::size_t code_points(const std::string& text);

// `text` on lines of at most `width` code points, broken between words; a word that is longer stands alone.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

}  // namespace rlflow
