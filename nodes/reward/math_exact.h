// 1 if the number that a response ends in equals the answer's, else 0.
#pragma once

#include <optional>
#include <string>

#include "nodes/reward/reward.h"

namespace rlflow {

// The number is the first after the last `####`, else the one in the last `\boxed{…}`, else the last of the text;
// of a response that was cut off none. Numbers are equal as decimals of any length: 72 = 72. = 072.0 = +72, and commas
// between groups of three digits do not count. An answer without a number gives no value.
class MathExact final : public FunctionReward {
 public:
  RewardVerdict verdict(const RewardRequest& request) const override;
  std::string answer(const RewardRequest& request) const override;
};

// The number that a text ends in, in one form for each value: no sign but `-`, no zero that could be left out, no
// point at the end; nullopt where there is none.
std::optional<std::string> final_number(std::string_view text);

}  // namespace rlflow
