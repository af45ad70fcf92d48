// How wide is a character in a terminal, and what is shown for one that has no picture?
#include "compiler/display.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace rlflow {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// East Asian Wide and Fullwidth, and emoji, by the blocks that hold them (Unicode 15, EastAsianWidth.txt).
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
                           {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
                           {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
// Marks that sit on the character before them.
constexpr Range kCombining[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},
                                {0x064B, 0x065F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
                                {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
// Controls, invisible characters and those that turn the direction of the text around.
constexpr Range kHidden[] = {{0x00, 0x08},     {0x0B, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},    {0x061C, 0x061C},
                             {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}};

constexpr std::size_t kTab = 4;
constexpr std::string_view kPlaceholder = "\xC2\xB7";  // ·

template <std::size_t N>
bool is_in(const Range (&ranges)[N], std::uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [code](const Range& range) { return code >= range.first && code <= range.last; });
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The bytes of the character at `begin`; of text that is not UTF-8 at most four of something.
std::string_view character_at(std::string_view text, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text.size() && end - begin < 4 && is_continuation(text[end])) ++end;
  return text.substr(begin, end - begin);
}

std::uint32_t code_of(std::string_view character) {
  auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  std::uint32_t code = first & (0xFFu >> (character.size() + 1));
  for (char c : character.substr(1)) code = (code << 6) | (static_cast<unsigned char>(c) & 0x3F);
  return code;
}

std::size_t width_of(std::uint32_t code) {
  if (code == '\t') return kTab;
  if (is_in(kHidden, code)) return 1;  // the placeholder
  if (is_in(kCombining, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
}

}  // namespace

std::string printable_line(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size();) {
    std::string_view character = character_at(line, i);
    i += character.size();
    if (character == "\t")
      text.append(kTab, ' ');
    else
      text += is_in(kHidden, code_of(character)) ? kPlaceholder : character;
  }
  return text;
}

std::size_t printed_column(std::string_view line, std::size_t byte) {
  std::size_t column = 0;
  for (std::size_t i = 0; i < line.size() && i < byte;) {
    std::string_view character = character_at(line, i);
    i += character.size();
    column += width_of(code_of(character));
  }
  return column;
}

std::string printable_text(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    std::string_view character = character_at(text, i);
    i += character.size();
    if (character == "\n")
      result += "\\n";
    else if (character == "\t")
      result += "\\t";
    else
      result += is_in(kHidden, code_of(character)) ? kPlaceholder : character;
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t points = 0;
  std::size_t cut = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_continuation(text[i])) continue;
    if (points++ == most - 3) cut = i;
  }
  return points <= most ? std::string(text) : std::string(text.substr(0, cut)) + "...";
}

std::string name_of_character(std::string_view character) {
  if (character == "`") return "'`'";
  std::uint32_t code = code_of(character);
  bool blank = code == 0xA0 || (code >= 0x2000 && code <= 0x200A) || code == 0x202F || code == 0x3000;
  if (!blank && !is_in(kHidden, code) && !is_in(kCombining, code)) return "`" + std::string(character) + "`";
  char text[16];
  std::snprintf(text, sizeof text, "U+%04X", static_cast<unsigned>(code));
  return text;
}

}  // namespace rlflow
