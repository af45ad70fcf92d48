// Finding added tokens, with the white space that some of them take.
#include "nodes/format/added_tokens.h"

#include <algorithm>
#include <functional>

namespace rlflow {
namespace {

std::uint32_t character_before(std::string_view text, std::size_t at, std::size_t* begin) {
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
  *begin = at;
  return next_character(text, at);
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  std::size_t at = 0;
  if (begin > 0 && is_word(character_before(text, begin, &at))) return false;
  at = end;
  return end == text.size() || !is_word(next_character(text, at));
}

std::size_t space_before(std::string_view text, std::size_t at, std::size_t least) {
  while (at > least) {
    std::size_t begin = 0;
    if (!is_white_space(character_before(text, at, &begin))) break;
    at = begin;
  }
  return std::max(at, least);
}

std::size_t space_after(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::size_t after = at;
    if (!is_white_space(next_character(text, after))) break;
    at = after;
  }
  return at;
}

bool within(const ControlRanges& control, std::size_t begin, std::size_t end) {
  return std::any_of(control.begin(), control.end(),
                     [&](const auto& range) { return range.first <= begin && end <= range.second; });
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, bool normalized,
                         const std::vector<NormalizerStep>& steps) {
  for (const AddedToken& token : tokens) {
    if (token.normalized != normalized) continue;
    std::string text = normalized ? rlflow::normalized(steps, token.content) : token.content;
    if (text.empty() || !by_text_.emplace(text, token).second) continue;
    std::vector<std::size_t>& lengths = lengths_[static_cast<unsigned char>(text[0])];
    if (std::find(lengths.begin(), lengths.end(), text.size()) == lengths.end()) lengths.push_back(text.size());
  }
  for (auto& lengths : lengths_) std::sort(lengths.begin(), lengths.end(), std::greater<>());
}

const AddedToken* AddedTokens::longest_at(std::string_view text, std::size_t at, std::size_t* length) const {
  for (const std::size_t candidate : lengths_[static_cast<unsigned char>(text[at])]) {
    if (candidate > text.size() - at) continue;
    const auto found = by_text_.find(text.substr(at, candidate));
    if (found == by_text_.end()) continue;
    *length = candidate;
    return &found->second;
  }
  return nullptr;
}

std::vector<TextSection> AddedTokens::find(std::string_view text, const ControlRanges& control,
                                           std::span<const std::string> names) const {
  std::vector<TextSection> sections;
  std::size_t from = 0;  // where the text begins that belongs to no section yet
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 0;
    const AddedToken* token = longest_at(text, at, &length);
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + length;
    at = end;
    const bool is_control = token->special || std::find(names.begin(), names.end(), token->content) != names.end();
    if (is_control && !within(control, begin, end)) continue;
    if (token->single_word && !stands_alone(text, begin, end)) continue;
    if (token->strip_left) begin = std::min(begin, space_before(text, begin, from));
    if (token->strip_right) end = space_after(text, end);
    if (from < begin) sections.push_back({from, begin, -1});
    sections.push_back({begin, end, token->id});
    from = end;  // the white space that a token took is looked through all the same, as `tokenizers` does
  }
  if (from < text.size()) sections.push_back({from, text.size(), -1});
  return sections;
}

}  // namespace rlflow
