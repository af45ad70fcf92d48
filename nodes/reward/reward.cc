// Which judges there are, and when their verdict is a value.
#include "nodes/reward/reward.h"

#include <cmath>
#include <stdexcept>

#include "nodes/reward/exact_answer.h"
#include "nodes/reward/exec_reward.h"
#include "nodes/reward/math_exact.h"
#include "nodes/reward/text_rewards.h"
#include "runtime/contract/attributes.h"
#include "runtime/contract/node.h"

namespace rlflow {
namespace {

constexpr std::size_t kShown = 400;  // bytes of a prompt or response in a message

std::string shown(std::string_view text) {
  return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "[…]";
}

RewardVerdict finite(RewardVerdict verdict) {
  if (!verdict.ok() || std::isfinite(static_cast<float>(verdict.value))) return verdict;
  return no_verdict("the reward " + double_text(verdict.value) + " is not finite in f32");
}

// The folder of all runs, unless the project lies in it.
std::filesystem::path hidden_folder(const std::filesystem::path& root, const std::filesystem::path& run_dir) {
  if (run_dir.empty()) return root / "runs";
  const std::filesystem::path run = std::filesystem::weakly_canonical(std::filesystem::absolute(run_dir));
  const std::filesystem::path inside = root.lexically_relative(run.parent_path());
  return inside.empty() || *inside.begin() == ".." ? run.parent_path() : run;
}

// Null for an unknown name.
std::unique_ptr<Reward> make_builtin(const std::string& name, const Attributes& settings) {
  if (name == "exact_answer") return std::make_unique<ExactAnswer>();
  if (name == "math_exact") return std::make_unique<MathExact>();
  if (name == "regex") return std::make_unique<PatternReward>(text_at(settings, "pattern"), /*whole=*/false);
  if (name == "format") return std::make_unique<PatternReward>(text_at(settings, "pattern"), /*whole=*/true);
  if (name == "contains") {
    const bool given = has(settings, "text");
    return std::make_unique<ContainsReward>(given ? std::optional(text_at(settings, "text")) : std::nullopt);
  }
  if (name == "length") return std::make_unique<LengthReward>(int_at(settings, "min"), int_at(settings, "max"));
  return nullptr;
}

}  // namespace

Judgement FunctionReward::judge(std::span<const RewardRequest> requests, const Judging& how) {
  Judgement judgement;
  for (const RewardRequest& request : requests) {
    if (how.stop.stop_requested()) throw TaskStopped();
    RewardVerdict found = finite(verdict(request));
    for (std::int32_t tries = 0; !found.ok() && tries < how.retry; ++tries) {
      ++judgement.errors;
      found = finite(verdict(request));
    }
    if (!found.ok()) ++judgement.errors;
    judgement.verdicts.push_back(std::move(found));
  }
  return judgement;
}

RewardPlace reward_place(const std::filesystem::path& root, const std::filesystem::path& run_dir) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path at = std::filesystem::weakly_canonical(std::filesystem::absolute(root));
  return {at, hidden_folder(at, run_dir), program / "rlflow-reward-host", program / "python"};
}

std::unique_ptr<Reward> make_reward(const PlanReward& reward, const RewardPlace& place) {
  if (reward.source == "exec") return make_exec_reward(reward, place);
  std::unique_ptr<Reward> made;
  try {
    if (reward.source == "builtin") made = make_builtin(reward.argument, reward.settings);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("reward `" + reward.name + "`: " + error.what());
  }
  if (made) return made;
  throw std::runtime_error("reward `" + reward.name + "`: this build has no code for " + reward.source + "(\"" +
                           reward.argument + "\")");
}

std::string failure_text(const RewardVerdict& verdict, const RewardRequest& request, std::size_t index) {
  return "response " + std::to_string(index) + ": " + (verdict.kind == VerdictKind::timeout ? "timeout: " : "") +
         verdict.error + "; the prompt was `" + shown(request.prompt) + "`, the response `" + shown(request.response) +
         "`";
}

std::vector<double> values_of(const Judgement& judgement, std::span<const RewardRequest> requests) {
  std::vector<double> values;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RewardVerdict& verdict = judgement.verdicts[i];
    if (!verdict.ok()) throw std::runtime_error(failure_text(verdict, requests[i], i));
    values.push_back(verdict.value);
  }
  return values;
}

}  // namespace rlflow
