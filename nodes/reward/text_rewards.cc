// What of a response's text makes a 1?
#include "nodes/reward/text_rewards.h"

#include <algorithm>
#include <stdexcept>

namespace rlflow {

RewardVerdict PatternReward::verdict(const RewardRequest& request) const {
  switch (whole_ ? pattern_.matches_whole(request.response) : pattern_.found_in(request.response)) {
    case PatternAnswer::yes: return verdict_of(1);
    case PatternAnswer::no: return verdict_of(0);
    case PatternAnswer::too_long: break;
  }
  return no_verdict("the pattern takes too many steps on this response");
}

RewardVerdict ContainsReward::verdict(const RewardRequest& request) const {
  const std::string_view text = text_ ? std::string_view(*text_) : request.answer;
  if (text.empty()) return no_verdict("there is nothing to find: the data gives no answer, `contains` no `text`");
  return verdict_of(request.response.find(text) != std::string_view::npos ? 1 : 0);
}

LengthReward::LengthReward(std::int64_t min, std::int64_t max) : min_(min), max_(max) {
  if (min > max) {
    throw std::runtime_error("no length is at least " + std::to_string(min) + " and at most " + std::to_string(max));
  }
}

RewardVerdict LengthReward::verdict(const RewardRequest& request) const {
  const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  const std::int64_t length = std::count_if(request.response.begin(), request.response.end(), begins_character);
  return verdict_of(length >= min_ && length <= max_ ? 1 : 0);
}

}  // namespace rlflow
