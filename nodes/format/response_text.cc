// Stop texts, found in decoded text however tokens divide it.
#include "nodes/format/response_text.h"

#include <algorithm>

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// The first of `texts` in `text` that does not end within its first `known` bytes.
std::optional<std::size_t> first_beyond(std::string_view text, std::size_t known,
                                        const std::vector<std::string>& texts) {
  std::size_t first = std::string_view::npos;
  for (const std::string& stop : texts) {
    const std::size_t from = known < stop.size() ? 0 : known - stop.size() + 1;
    first = std::min(first, text.find(stop, from));
  }
  return first == std::string_view::npos ? std::nullopt : std::optional(first);
}

// Bytes that both begin with. The text of fewer tokens may end in half a character, which the next one makes whole.
std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

const char* finish_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::end: return "end";
    case FinishReason::length: return "length";
    case FinishReason::stop: return "stop";
  }
  return "";
}

StopTexts::StopTexts(const Tokenizer& tokenizer, std::vector<std::string> texts)
    : tokenizer_(tokenizer), texts_(std::move(texts)) {
  for (const std::string& text : texts_) {
    RLFLOW_CHECK(!text.empty(), "an empty stop text");
    longest_ = std::max(longest_, text.size());
  }
}

bool StopTexts::completed_by_last(std::span<const std::int32_t> ids) const {
  if (texts_.empty() || ids.empty()) return false;
  // A window may lose a space at its front or begin within a character.
  constexpr std::size_t kMargin = 8;
  const std::span<const std::int32_t> before = ids.first(ids.size() - 1);
  std::size_t count = 0;
  std::string known;
  while (count < before.size() && known.size() < longest_ + kMargin) {
    count = std::min(before.size(), count + std::max<std::size_t>(4, longest_));
    known = tokenizer_.decode(before.last(count));
  }
  const std::string text = tokenizer_.decode(ids.last(count + 1));
  return first_beyond(text, common_prefix(known, text), texts_).has_value();
}

std::optional<std::size_t> StopTexts::position(std::span<const std::int32_t> ids) const {
  if (texts_.empty() || ids.empty()) return std::nullopt;
  const std::string text = tokenizer_.decode(ids);
  return first_beyond(text, common_prefix(tokenizer_.decode(ids.first(ids.size() - 1)), text), texts_);
}

std::string response_text(const Tokenizer& tokenizer, std::span<const std::int32_t> ids, FinishReason finish,
                          const std::vector<std::string>& stop) {
  if (finish == FinishReason::stop) {
    if (const auto position = StopTexts(tokenizer, stop).position(ids))
      return tokenizer.decode(ids).substr(0, *position);
  }
  return tokenizer.decode_response(ids);
}

}  // namespace rlflow
