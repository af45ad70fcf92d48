// Decodes number and string tokens.
#include "compiler/literals.h"

#include <charconv>
#include <limits>
#include <optional>

namespace rlflow {
namespace {

std::optional<std::int64_t> scaled(std::int64_t number, std::int64_t factor) {
  if (number > std::numeric_limits<std::int64_t>::max() / factor) return std::nullopt;
  return number * factor;
}

void report_size(Span token, const SourceMap& sources, Diagnostics& diagnostics) {
  diagnostics.error("E0113", token, "`" + std::string(sources.text(token)) + "` is too large for a number")
      .note("whole numbers go up to 9,223,372,036,854,775,807, others up to 1.8e308");
}

void append_utf8(std::string& text, std::uint32_t code) {
  auto put = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | (code >> 6));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

// The code point of `{1F600}` at the front of `rest`, whose length is put into `length`.
std::optional<std::uint32_t> braced_code_point(std::string_view rest, std::size_t& length) {
  std::size_t close = rest.find('}');
  if (!rest.starts_with('{') || close == std::string_view::npos || close < 2 || close > 7) return std::nullopt;
  std::uint32_t code = 0;
  auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + close, code, 16);
  if (error != std::errc() || end != rest.data() + close) return std::nullopt;
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return std::nullopt;
  length = close + 1;
  return code;
}

}  // namespace

ast::Number number_of(Span token, const SourceMap& sources, Diagnostics& diagnostics) {
  std::string digits;
  for (char c : sources.text(token)) {
    if (c != '_') digits += c;
  }
  std::int64_t factor = 1;
  if (digits.ends_with("Ki")) factor = 1024;
  if (digits.ends_with("Mi")) factor = 1024 * 1024;
  if (factor > 1) digits.resize(digits.size() - 2);

  ast::Number number;
  number.is_whole = digits.find_first_of(".eE") == std::string::npos;
  const char* end = digits.data() + digits.size();
  if (number.is_whole) {
    auto [stop, error] = std::from_chars(digits.data(), end, number.whole);
    std::optional<std::int64_t> whole = error == std::errc() ? scaled(number.whole, factor) : std::nullopt;
    number.is_known = whole.has_value();
    number.whole = whole.value_or(0);
  } else {
    auto [stop, error] = std::from_chars(digits.data(), end, number.real);
    if (error == std::errc::result_out_of_range && digits.find("e-") == std::string::npos &&
        digits.find("E-") == std::string::npos) {
      number.is_known = false;
    }
  }
  if (!number.is_known) report_size(token, sources, diagnostics);
  return number;
}

std::string string_of(Span token, const SourceMap& sources, Diagnostics& diagnostics) {
  std::string_view raw = sources.text(token);
  if (raw.size() < 2) return {};
  raw = raw.substr(1, raw.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i];
      continue;
    }
    std::size_t length = 0;
    char kind = raw[++i];
    if (kind == 'n')
      text += '\n';
    else if (kind == 't')
      text += '\t';
    else if (kind == '"' || kind == '\\')
      text += kind;
    else if (auto code = kind == 'u' ? braced_code_point(raw.substr(i + 1), length) : std::nullopt) {
      append_utf8(text, *code);
      i += length;
    } else {
      auto begin = static_cast<std::uint32_t>(token.begin + i);
      Span place{token.file, begin, begin + 2};
      while (place.end < token.end && (static_cast<unsigned char>(raw[place.end - token.begin - 1]) & 0xC0) == 0x80) {
        ++place.end;
      }
      diagnostics.error("E0112", place, "a string has no escape `" + std::string(sources.text(place)) + "`")
          .note("the escapes are \\n \\t \\\" \\\\ and \\u{...} with the hex digits of a code point");
    }
  }
  return text;
}

}  // namespace rlflow
