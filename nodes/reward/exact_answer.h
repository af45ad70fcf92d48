// 1 if the response ended with exactly the answer, else 0.
#pragma once

#include "nodes/reward/reward.h"

namespace rlflow {

// What counts is the text after the last `>` of a response that begins with `<`, or the whole response if it does not.
class ExactAnswer final : public FunctionReward {
 public:
  RewardVerdict verdict(const RewardRequest& request) const override;
  std::string answer(const RewardRequest& request) const override;
};

}  // namespace rlflow
