// Column widths, padding and wrapping.
#include "cli/table.h"

#include <algorithm>
#include <sstream>

namespace rlflow {
namespace {

constexpr std::size_t kNarrowest = 24;  // a last column is not squeezed further

std::vector<std::size_t> column_widths(const Table& table) {
  std::vector<std::size_t> widths;
  auto widen = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], code_points(row[i]));
  };
  widen(table.header);
  for (const auto& row : table.rows) widen(row);
  return widths;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  std::string space(width > code_points(text) ? width - code_points(text) : 0, ' ');
  return right ? space + text : text + space;
}

bool is_right(const Table& table, std::size_t column) { return column < table.right.size() && table.right[column]; }

// One row, on several lines where its last column wraps.
std::string row_text(const Table& table, const std::vector<std::string>& row, const std::vector<std::size_t>& widths,
                     std::size_t indent, std::size_t width) {
  std::string line(indent, ' ');
  for (std::size_t i = 0; i + 1 < row.size(); ++i) line += padded(row[i], widths[i], is_right(table, i)) + "  ";
  const std::size_t start = code_points(line);
  const std::size_t last = row.size() - 1;
  std::vector<std::string> parts = {is_right(table, last) ? padded(row[last], widths[last], true) : row[last]};
  const bool is_last_column = row.size() == widths.size();
  if (width > 0 && is_last_column && !is_right(table, last)) {
    parts = wrapped(row[last], std::max(kNarrowest, width > start ? width - start : 0));
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string whole = (i == 0 ? line : std::string(start, ' ')) + parts[i];
    whole.erase(whole.find_last_not_of(' ') + 1);
    text += whole + "\n";
  }
  return text;
}

}  // namespace

std::size_t code_points(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && code_points(line) + 1 + code_points(word) > width) {
      lines.push_back(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

std::string to_text(const Table& table, std::size_t indent, std::size_t width) {
  const std::vector<std::size_t> widths = column_widths(table);
  std::string text;
  if (!table.header.empty()) text += row_text(table, table.header, widths, indent, width);
  for (const auto& row : table.rows) {
    if (!row.empty()) text += row_text(table, row, widths, indent, width);
  }
  return text;
}

}  // namespace rlflow
