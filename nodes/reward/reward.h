// A reward function as score and evaluate see it: one response in, a verdict out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/contract/plan.h"

namespace rlflow {

struct RewardRequest {
  std::string_view prompt;
  std::string_view response;  // text without the end token
  std::string_view answer;    // empty where the data has none
  bool ended = false;         // an end token was produced; false: cut off at max_new
};

// A judge that failed gives no value: failure never becomes a reward of 0.
struct RewardVerdict {
  bool ok = true;
  double value = 0;   // finite in f32 if ok
  std::string error;  // why there is no value
};

// Any number of threads may call it.
class Reward {
 public:
  virtual ~Reward() = default;
  virtual RewardVerdict judge(const RewardRequest& request) const = 0;
};

// Throws std::runtime_error naming the declaration and what is wrong with it.
std::unique_ptr<Reward> make_reward(const PlanReward& reward);

// The value of the verdict; a non-finite value is an error too. Throws std::runtime_error saying why, with prompt and
// response.
double judged_value(const Reward& reward, const RewardRequest& request);

}  // namespace rlflow
