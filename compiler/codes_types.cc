// E03: inputs, outputs, shapes, settings.
#include "compiler/code_tables.h"

namespace rlflow {

std::span<const CodeInfo> type_codes() {
  static constexpr CodeInfo kCodes[] = {
      {"E0301", "", "`OP` needs a KIND, but `X` is another",
       "Kinds keep equal shapes apart: log-probabilities are not values, a reward is not an advantage. The message "
       "shows "
       "where the input was made and which output of the flow would fit.",
       R"(adv : adv[B] = advantage(traj) { estimator = grpo })", R"(adv : adv[B] = advantage(r) { estimator = grpo })"},
      {"E0302", "", "`X` is TYPE, not what is written",
       "A type behind `:` is optional and checked: its kind and the number of its dimensions must be those of the "
       "output.",
       R"(r : adv[B] = score(exact, traj))", R"(r : reward[B] = score(exact, traj))"},
      {"E0303", "", "`OP` needs `X`", "A required input or argument is missing.",
       R"(traj : traj[B, T] = rollout(sampler, n=8) { max_new = 34 })",
       R"(traj : traj[B, T] = rollout(sampler, batch, n=8) { max_new = 34 })"},
      {"E0304", "", "`OP` has no input `X`",
       "There are more arguments than the node or function takes, or one has an unknown name.",
       R"(r : reward[B] = score(exact, traj, batch))", R"(r : reward[B] = score(exact, traj))"},
      {"E0305", "", "a group of one has no spread: every advantage would be 0",
       "Estimators like grpo and rloo compare the responses of one prompt with each other, so they need `n` of 2 or "
       "more.",
       R"(traj : traj[B, T] = rollout(sampler, batch, n=1) { max_new = 34 })",
       R"(traj : traj[B, T] = rollout(sampler, batch, n=2) { max_new = 34 })"},
      {"E0306", "", "`X` belongs to `A`, not to `B`",
       "Each take, rollout and filter makes dimensions of its own. Rewards of one rollout do not fit the trajectories "
       "of "
       "another, even where names and sizes are equal.",
       R"(traj2 = rollout(sampler, batch, n=8) { max_new = 34 })"
       "\n"
       R"(step = update(policy, traj2, adv) { loss = ppo })",
       R"(step = update(policy, traj, adv) { loss = ppo })"},
      {"E0307", "", "`X` names two dimensions",
       "A name in a type stands for one dimension throughout the flow, and a dimension has one name.",
       R"(batch2 : prompts[P] = take(test, 8))", R"(batch2 : prompts[Q] = take(test, 8))"},
      {"E0308", "", "`OP` has no setting `X`", "`rlflow params FILE` lists the settings with their defaults.",
       R"(adv : adv[B] = advantage(r) { estimater = grpo })", R"(adv : adv[B] = advantage(r) { estimator = grpo })"},
      {"E0309", "", "`SETTING` is a TYPE", "The value has another type or unit. Units are required, only 0 needs none.",
       R"(r : reward[B] = score(exact, traj) { timeout = 5 })",
       R"(r : reward[B] = score(exact, traj) { timeout = 5s })"},
      {"E0310", "", "`update` of a policy needs an advantage",
       "A policy moves along the advantages of its trajectories: `update(policy, traj, adv)`. A critic is fitted to "
       "`returns=` instead.",
       R"(step = update(policy, traj) { loss = ppo })", R"(step = update(policy, traj, adv) { loss = ppo })"},
      {"E0311", "", "`X` stands in { }, not in ( )",
       "In ( ) stand the inputs and the constants that fix a shape (`n`, the count of `take`); all else stands in { }.",
       R"(traj : traj[B, T] = rollout(sampler, batch, n=8, temperature=1.0) { max_new = 34 })",
       R"(traj : traj[B, T] = rollout(sampler, batch, n=8) { temperature = 1.0, max_new = 34 })"},
      {"E0312", "", "a KL weight needs reference log-probs, and `update` has no `ref`",
       "`kl` weighs the distance to a reference model, so it needs `ref=` with that model's log-probabilities; and "
       "log-probabilities without a weight would be computed for nothing. `loss = dpo` needs them too, and "
       "`off_policy` "
       "compares `old=` with what was sampled.",
       R"(step = update(policy, traj, adv) { loss = ppo, kl = 0.001 })",
       R"(step = update(policy, traj, adv) { loss = ppo, kl = 0 })"},
      {"E0313", "", "`SETTING` cannot be `X`",
       "The value is none of the words of the setting, or lies outside its range. Both ends of a range are included.",
       R"(adv : adv[B] = advantage(r) { estimator = gpro })", R"(adv : adv[B] = advantage(r) { estimator = grpo })"},
      {"E0314", "", "`OP` has N outputs", "More names stand in front of `=` than the node has outputs.",
       R"(r, s = score(exact, traj))", R"(r = score(exact, traj))"},
      {"E0315", "", "`OP` needs the setting `X`", "A setting without a default is missing.",
       R"(adv : adv[B] = advantage(r))", R"(adv : adv[B] = advantage(r) { estimator = grpo })"},
      {"E0316", "", "`OP` needs `X`, which `when` takes away",
       "A node whose `when` is false is not part of the program. What it makes fits only optional inputs.",
       R"(adv : adv[B] = advantage(r) { estimator = grpo } )"
       "\n"
       R"(r : reward[B] = score(exact, traj) when kl > 0)",
       R"(r : reward[B] = score(exact, traj) when kl == 0)"},
      {"E0317", "", "`A` runs before `B` does",
       "`from = K` skips a node before step K. A node that needs its output must be skipped as long.",
       R"(r : reward[B] = score(exact, traj) { from = 5 })", R"(r : reward[B] = score(exact, traj) { from = 1 })"},
      {"E0318", "", "`X` is given twice", "An input or a setting has one value.",
       R"(adv : adv[B] = advantage(r) { estimator = grpo, estimator = rloo })",
       R"(adv : adv[B] = advantage(r) { estimator = grpo })"},
      {"E0319", "", "`OP` needs a model with another `head`",
       "A model gives words (`head = lm`), a value for each token (`value`) or a reward (`reward`).",
       R"(r : reward[B] = score(ref, traj))", R"(r : reward[B] = score(exact, traj))"},
      {"E0320", "", "`DATA` holds no KIND",
       "A data set gives prompts, examples or pairs, and each `take` node reads one of them.",
       R"(more = take_pairs(train, 8))", R"(more = take(train, 8))"},
      {"E0321", "", "`OP` asks every row of `DATA`, which has no last one",
       "A generator makes rows without end. What asks every row, and `shuffle`, need to know how many: give its "
       "declaration a `size`.",
       R"(data test = builtin("addition") { seed = 2, split = test })",
       R"(data test = builtin("addition") { seed = 2, split = test, size = 64 })"},
      {"E0322", "", "`SETTING` has no effect with `OTHER = WORD`",
       "Some settings belong to some words of another one: `scale` to `estimator = grpo`, `dual_clip` to `loss = ppo`. "
       "A value that nothing uses would be believed to do something.",
       R"(adv : adv[B] = advantage(r) { estimator = rloo, scale = batch })",
       R"(adv : adv[B] = advantage(r) { estimator = grpo, scale = batch })"},
      {"E0323", "", "`loss = X` needs one advantage a response",
       "gspo and gmpo compare whole responses: one ratio each, and one advantage. An advantage for each token fits the "
       "losses of tokens.",
       R"(adv = advantage(r) { estimator = reinforce_pp })"
       "\n"
       R"(step = update(policy, traj, adv) { loss = gmpo })",
       R"(adv = advantage(r) { estimator = grpo })"
       "\n"
       R"(step = update(policy, traj, adv) { loss = gmpo })"},
      {"E0324", "", "`OP` has N rewards and M weights",
       "`weights` has one number for each reward, in the order of the inputs; without it each weighs 1.",
       R"(both : reward[B] = combine(r, r) { weights = [0.5] })",
       R"(both : reward[B] = combine(r, r) { weights = [0.5, 0.5] })"},
      {"E0325", "", "`baseline` needs the rewards of one greedy response to each prompt",
       "`estimator = remax` takes from each reward that of the most likely response, so its baseline is judged on a "
       "rollout of its own with `n=1` and `temperature = 0`.",
       R"(adv : adv[B, T] = advantage(r, baseline=r) { estimator = remax })",
       R"(adv : adv[B] = advantage(r) { estimator = rloo })"},
      {"E0326", "", "`refill` cannot run `OP` again",
       "A filter with `refill` samples again for the prompt groups that it dropped: take, rollout, score and combine "
       "run again. What else stands between them cannot.",
       R"(old = logprob(policy, traj))"
       "\n"
       R"(dense, spent = kl_penalty(r, old, old, coef=prev(spent, init=0.1)))"
       "\n"
       R"(both = combine(r, dense))"
       "\n"
       R"(some, kept = filter(traj, both) { drop = uniform_groups, refill = 2 })",
       R"(some, kept = filter(traj, r) { drop = uniform_groups, refill = 2 })"},
  };
  return kCodes;
}

}  // namespace rlflow
