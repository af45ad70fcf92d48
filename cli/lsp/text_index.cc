// UTF-16 columns of UTF-8 text.
#include "cli/lsp/text_index.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace rlflow::lsp {
namespace {

using nlohmann::json;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// UTF-16 code units of the character that begins with this byte.
std::uint32_t units_of(char first) { return static_cast<unsigned char>(first) >= 0xF0 ? 2 : 1; }

}  // namespace

TextIndex::TextIndex(std::string_view text) : text_(text), starts_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool crlf = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if ((text[i] == '\n' || text[i] == '\r') && !crlf) starts_.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

std::string_view TextIndex::line(std::uint32_t number) const {
  std::size_t end = number + 1 < starts_.size() ? starts_[number + 1] : text_.size();
  std::string_view text = text_.substr(starts_[number], end - starts_[number]);
  return text.substr(0, text.find_first_of("\r\n"));
}

std::uint32_t TextIndex::byte(EditorPosition position) const {
  if (position.line >= starts_.size()) return static_cast<std::uint32_t>(text_.size());
  std::string_view text = line(position.line);
  std::uint32_t units = 0;
  std::size_t i = 0;
  while (i < text.size() && units + units_of(text[i]) <= position.character) {
    units += units_of(text[i]);
    ++i;
    while (i < text.size() && is_continuation(text[i])) ++i;
  }
  return starts_[position.line] + static_cast<std::uint32_t>(i);
}

EditorPosition TextIndex::position(std::uint32_t byte) const {
  byte = std::min(byte, static_cast<std::uint32_t>(text_.size()));
  auto after = std::upper_bound(starts_.begin(), starts_.end(), byte);
  EditorPosition result{static_cast<std::uint32_t>(after - starts_.begin() - 1), 0};
  std::string_view text = line(result.line);
  std::size_t inside = std::min<std::size_t>(byte - starts_[result.line], text.size());
  for (std::size_t i = 0; i < inside; ++i) result.character += is_continuation(text[i]) ? 0 : units_of(text[i]);
  return result;
}

json TextIndex::range(std::uint32_t begin, std::uint32_t end) const {
  EditorPosition from = position(begin), to = position(end);
  return {{"start", {{"line", from.line}, {"character", from.character}}},
          {"end", {{"line", to.line}, {"character", to.character}}}};
}

EditorPosition position_of(const json& position) {
  const auto count = [&](const char* name) {
    const json& number = position.at(name);
    if (!number.is_number_unsigned()) throw std::invalid_argument(std::string("`") + name + "` is no whole number");
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(std::min(number.get<std::uint64_t>(), kMost));
  };
  return {count("line"), count("character")};
}

void apply_change(std::string& text, const json& change) {
  std::string replacement = change.at("text").get<std::string>();
  auto range = change.find("range");
  if (range == change.end()) {
    text = std::move(replacement);
    return;
  }
  TextIndex index(text);
  std::uint32_t begin = index.byte(position_of(range->at("start")));
  std::uint32_t end = index.byte(position_of(range->at("end")));
  if (end < begin) std::swap(begin, end);
  text.replace(begin, end - begin, replacement);
}

}  // namespace rlflow::lsp
