// Judges that look at the text of a response alone: regex, format, contains, length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nodes/format/pattern.h"
#include "nodes/reward/reward.h"

namespace rlflow {

// 1 if the pattern is found, or matches the whole response. A match that takes too many steps gives no value.
class PatternReward final : public FunctionReward {
 public:
  PatternReward(const std::string& pattern, bool whole) : pattern_(pattern), whole_(whole) {}
  RewardVerdict verdict(const RewardRequest& request) const override;

 private:
  Pattern pattern_;
  bool whole_;
};

// 1 if the response holds the text, or where none is given the answer.
class ContainsReward final : public FunctionReward {
 public:
  explicit ContainsReward(std::optional<std::string> text) : text_(std::move(text)) {}
  RewardVerdict verdict(const RewardRequest& request) const override;

 private:
  std::optional<std::string> text_;
};

// 1 if the response has at least `min` and at most `max` characters (code points).
class LengthReward final : public FunctionReward {
 public:
  // Throws std::runtime_error where no length is within the bounds.
  LengthReward(std::int64_t min, std::int64_t max);
  RewardVerdict verdict(const RewardRequest& request) const override;

 private:
  std::int64_t min_, max_;
};

}  // namespace rlflow
