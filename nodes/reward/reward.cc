// Which judges there are, and when their verdict is a value.
#include "nodes/reward/reward.h"

#include <cmath>
#include <stdexcept>

#include "nodes/reward/exact_answer.h"
#include "runtime/contract/attributes.h"

namespace rlflow {

std::unique_ptr<Reward> make_reward(const PlanReward& reward) {
  if (reward.source == "builtin" && reward.argument == "exact_answer") return std::make_unique<ExactAnswer>();
  throw std::runtime_error("reward `" + reward.name + "`: this build has no code for " + reward.source + "(\"" +
                           reward.argument + "\")");
}

double judged_value(const Reward& reward, const RewardRequest& request) {
  const RewardVerdict verdict = reward.judge(request);
  if (verdict.ok && std::isfinite(static_cast<float>(verdict.value))) return verdict.value;
  const std::string why =
      verdict.ok ? "the reward " + double_text(verdict.value) + " is not finite in f32" : verdict.error;
  throw std::runtime_error(why + "; the prompt was `" + std::string(request.prompt) + "`, the response `" +
                           std::string(request.response) + "`");
}

}  // namespace rlflow
