// The lines that go to a reward program and come back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nodes/reward/reward.h"

namespace rlflow {

inline constexpr std::size_t kLongestReply = 64 * 1024;  // bytes of a line
inline constexpr double kLargestReward = 1e6;            // in magnitude

// {"id":…,"more":…,"prompt":…,"response":…,"answer":…,"ended":…,"row":{…}} and a newline. `more`: how many requests of
// this batch follow. Text that is not UTF-8 (a model may stop within a character) has U+FFFD in its place.
std::string request_line(std::uint64_t id, std::size_t more, const RewardRequest& request);

struct RewardReply {
  std::uint64_t id = 0;
  RewardVerdict verdict;
};

// {"id":…,"reward":…} or {"id":…,"error":"…"}, with any `info` besides. Throws std::runtime_error, saying why, where
// the line is neither: the program then keeps no protocol and nothing else of it can be believed.
RewardReply read_reply(std::string_view line);

// `text` as valid UTF-8 on one line, without control characters; ends of lines become " | ".
std::string printable_line(std::string_view text);

}  // namespace rlflow
