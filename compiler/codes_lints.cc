// W07: what is legal and looks like a mistake.
#include "compiler/code_tables.h"

namespace rlflow {

std::span<const CodeInfo> lint_codes() {
  static constexpr CodeInfo kCodes[] = {
      {"W0701", "unused-node", "nothing reads `X`", "The node runs each step and nothing uses what it makes.",
       R"(old : logp[B, T] = logprob(policy, traj))",
       R"(old : logp[B, T] = logprob(policy, traj))"
       "\n"
       R"(step = update(policy, traj, adv, old=old, ref=refl) { loss = ppo, kl = kl })"},
      {"W0702", "unused-param", "parameter `X` is never used", "", R"(param tries : int = 1)",
       R"(param tries : int = 1)"
       "\n"
       R"(r : reward[B] = score(exact, traj) { retry = tries })"},
      {"W0703", "unused-group", "group `X` is never used", "", R"(group other = cpu)", ""},
      {"W0704", "unused-model", "model `X` is never used", "", R"(model other = load("models/tiny") on here)", ""},
      {"W0705", "unused-replica", "replica `X` is never used", "", R"(replica other = policy on here)", ""},
      {"W0706", "unused-data", "data set `X` is never used", "", R"(data other = builtin("addition"))", ""},
      {"W0707", "unused-reward", "reward function `X` is never used", "", R"(reward other = builtin("exact_answer"))",
       ""},
      {"W0710", "truncated-sampling", "`top_p` cuts off tokens that `UPDATE` believes possible",
       "The recorded log-probs are of the whole softmax. Samples from a part of it are not what the update takes them "
       "for.",
       R"(traj : traj[B, T] = rollout(sampler, batch, n=8) { max_new = 34, top_p = 0.9 })",
       R"(traj : traj[B, T] = rollout(sampler, batch, n=8) { max_new = 34, top_p = 1.0 })"},
      {"W0711", "rounded-replica", "`R` samples with weights rounded to bf16, and `UPDATE` learns in f32",
       "The samples are of slightly other probabilities than those that the update compares them with, at every step.",
       R"(replica sampler = policy on here { dtype = bf16 })", R"(replica sampler = policy on here)"},
  };
  return kCodes;
}

}  // namespace rlflow
