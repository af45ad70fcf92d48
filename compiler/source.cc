// Lines and columns of source texts, and the check of their encoding.
#include "compiler/source.h"

#include <algorithm>

namespace rlflow {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::vector<std::uint32_t> find_line_starts(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // no part of the first line
  std::vector<std::uint32_t> starts{text.starts_with(kByteOrderMark) ? 3u : 0u};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts.push_back(static_cast<std::uint32_t>(i + 1));
  }
  return starts;
}

struct Utf8Form {
  int length;              // of the sequence; 0: not a first byte
  std::uint32_t smallest;  // code points below it have a shorter form
};

Utf8Form form_of(unsigned char first) {
  if (first < 0x80) return {1, 0};
  if (first >= 0xC2 && first < 0xE0) return {2, 0x80};
  if (first >= 0xE0 && first < 0xF0) return {3, 0x800};
  if (first >= 0xF0 && first < 0xF5) return {4, 0x10000};
  return {0, 0};
}

bool well_formed(std::string_view sequence, std::uint32_t smallest) {
  std::uint32_t code = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() > 1) code &= (0xFFu >> (sequence.size() + 1));
  for (char c : sequence.substr(1)) {
    if (!is_continuation(c)) return false;
    code = (code << 6) | (static_cast<unsigned char>(c) & 0x3F);
  }
  return code >= smallest && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

}  // namespace

FileId SourceMap::add(std::string path, std::string text) {
  std::vector<std::uint32_t> starts = find_line_starts(text);
  files_.push_back({std::move(path), std::move(text), std::move(starts)});
  return FileId(files_.size() - 1);
}

Position SourceMap::position(FileId id, std::uint32_t byte) const {
  const SourceFile& source = file(id);
  byte = std::clamp(byte, source.line_starts[0], static_cast<std::uint32_t>(source.text.size()));
  auto after = std::upper_bound(source.line_starts.begin(), source.line_starts.end(), byte);
  auto line = static_cast<std::uint32_t>(after - source.line_starts.begin());
  std::uint32_t start = source.line_starts[line - 1];
  std::uint32_t column = 1;
  for (std::uint32_t i = start; i < byte; ++i) column += is_continuation(source.text[i]) ? 0 : 1;
  return {line, column, byte};
}

std::string_view SourceMap::line_text(FileId id, std::uint32_t line) const {
  const SourceFile& source = file(id);
  if (line == 0 || line > source.line_starts.size()) return {};
  std::string_view rest = std::string_view(source.text).substr(source.line_starts[line - 1]);
  std::string_view text = rest.substr(0, rest.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

std::string_view SourceMap::text(Span span) const {
  if (!span.valid()) return {};
  return std::string_view(file(span.file).text).substr(span.begin, span.end - span.begin);
}

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {  // most of a program
      ++i;
      continue;
    }
    Utf8Form form = form_of(static_cast<unsigned char>(text[i]));
    auto length = static_cast<std::size_t>(form.length);
    if (length == 0 || i + length > text.size()) return i;
    if (!well_formed(text.substr(i, length), form.smallest)) return i;
    i += length;
  }
  return std::string_view::npos;
}

}  // namespace rlflow
