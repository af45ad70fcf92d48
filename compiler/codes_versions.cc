// E04: feedback, schedule, versions of weights.
#include "compiler/code_tables.h"

namespace rlflow {

std::span<const CodeInfo> version_codes() {
  static constexpr CodeInfo kCodes[] = {
      {"E0401", "", "`X` needs itself within one step",
       "Values go round only from step to step: a number through `prev(x, init=...)`, weights through `sync`.",
       R"(one : scalar = adapt_kl(two, prev(one, init=0.1)) { target = 0.1, horizon = 1000 })"
       "\n"
       R"(two : scalar = adapt_kl(one, prev(one, init=0.1)) { target = 0.1, horizon = 1000 })",
       R"(one : scalar = adapt_kl(prev(two, init=0.1), prev(one, init=0.1)) { target = 0.1, horizon = 1000 })"
       "\n"
       R"(two : scalar = adapt_kl(one, prev(one, init=0.1)) { target = 0.1, horizon = 1000 })"},
      {"E0402", "", "cannot update `X`: it is frozen",
       "Only a model declared `trainable` has an optimizer and versions.",
       R"(step = update(ref, traj, adv) { loss = ppo })", R"(step = update(policy, traj, adv) { loss = ppo })"},
      {"E0403", "", "`X` is updated twice in one step",
       "A step makes one version of each model. More optimizer steps come from `epochs` and `minibatch`.",
       R"(again = update(policy, traj, adv) { loss = ppo })", ""},
      {"E0404", "", "`prev` needs the name of an output and `init`",
       "`prev(x, init=v)` is the number that `x` had in the last step, and v at the first.",
       R"(coef : scalar = adapt_kl(prev(coef), 0.1) { target = 0.1, horizon = 1000 })",
       R"(coef : scalar = adapt_kl(prev(coef, init=0.1), prev(coef, init=0.1)) { target = 0.1, horizon = 1000 })"},
      {"E0405", "", "`R` is a replica of `A`, not of `B`", "`sync` brings weights from a model to its own replicas.",
       R"(sync ref -> sampler every 1 step lag 0)", R"(sync policy -> sampler every 1 step lag 0)"},
      {"E0406", "", "`X` is trainable and has no optimizer", "A trainable model has `optim`, and only that.",
       R"(model policy = load("models/tiny") on here { trainable })",
       R"(model policy = load("models/tiny") on here { trainable, optim = adamw(lr=1e-4) })"},
      {"E0407", "", "`OP` must stand inside `every`",
       "`evaluate` and `checkpoint` run beside the steps, in `every n steps { ... }`; all else runs each step.",
       R"(acc2 = evaluate(sampler, test, exact) { max_new = 34 })",
       R"(every 5 steps { acc2 = evaluate(sampler, test, exact) { max_new = 34 } })"},
      {"E0408", "", "`every` needs a whole number of steps, at least 1", "A lag may be 0, a period may not.",
       R"(sync policy -> sampler every 0 steps lag 0)", R"(sync policy -> sampler every 1 step lag 0)"},
      {"E0409", "", "a flow has one `stop`, and this is its second", "The last step is one number.",
       R"(stop after 3)"
       "\n"
       R"(stop after 5)",
       R"(stop after 3)"},
      {"E0410", "", "`FLOW` never stops", "A run has a last step. `-s stop=N` changes it for one run.",
       R"(# without stop)", R"(stop after 100)"},
      {"E0411", "", "`R` never learns: no `sync M -> R`",
       "A replica keeps the weights that it was loaded with until a `sync` brings newer ones.", R"(# without sync)",
       R"(sync policy -> sampler every 1 step lag 0)"},
      {"E0412", "", "`R` has a second `sync`", "A replica gets its weights from one `sync`.",
       R"(sync policy -> sampler every 1 step lag 0)"
       "\n"
       R"(sync policy -> sampler every 2 steps lag 0)",
       R"(sync policy -> sampler every 1 step lag 0)"},
      {"E0413", "", "`update` treats N-step-old samples as its own",
       "With `every n ... lag L` samples are up to n - 1 + L steps old. Their probabilities under the policy have "
       "changed "
       "since, which an off-policy correction makes good.",
       R"(sync policy -> sampler every 1 step lag 1)", R"(sync policy -> sampler every 1 step lag 0)"},
      {"E0414", "", "`X` has adapters, but is not `trainable`",
       "`lora` trains adapters (low-rank additions to linear layers) and nothing else: neither a frozen model nor a "
       "new "
       "head has anything of it.",
       R"(model policy = load("models/tiny") on here { lora(rank=8, alpha=16) })",
       R"(model policy = load("models/tiny") on here { trainable, lora(rank=8, alpha=16), optim = adamw(lr=1e-4) })"},
      {"E0415", "", "`ROLLOUT` is greedy, and `UPDATE` cannot learn from it",
       "With temperature 0 all responses to a prompt are alike: nothing is explored. `evaluate` may be greedy.",
       R"(traj : traj[B, T] = rollout(sampler, batch, n=8) { temperature = 0, max_new = 34 })",
       R"(traj : traj[B, T] = rollout(sampler, batch, n=8) { temperature = 1.0, max_new = 34 })"},
      {"E0416", "", "`X` has no adapters, so it has no base",
       "`base_of(policy)` is a frozen view of the weights that the adapters of `policy` are added to; they never "
       "change. "
       "A model trained as a whole keeps no such weights.",
       R"(model start = base_of(policy))", R"(model start = load("models/tiny") on here)"},
  };
  return kCodes;
}

}  // namespace rlflow
