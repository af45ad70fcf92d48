// E02: names, parameters, imports, overrides.
#include "compiler/code_tables.h"

namespace rlflow {

std::span<const CodeInfo> name_codes() {
  static constexpr CodeInfo kCodes[] = {
      {"E0201", "", "there is no KIND `X`",
       "No declaration, import or node of the file has this name. Suggestions are names that could stand there.",
       R"(r : reward[B] = score(exact, trj))", R"(r : reward[B] = score(exact, traj))"},
      {"E0202", "", "`X` is defined twice",
       "Imports, declarations and node outputs of a file share one set of names, also inside `every`.",
       R"(param exact : int = 1)", R"(param tries : int = 1)"},
      {"E0203", "", "no parameter `X`",
       "An override `-s address=value` names a parameter, a setting (`traj.temperature`), a shape constant (`traj.n`), "
       "a "
       "group's devices (`gpus=gpu[0..4]`) or `stop`. It never adds or changes an edge.",
       R"(-s step=16)", R"(-s steps=16)"},
      {"E0204", "", "there is no node `X`", "`rlflow explain` and the language reference list the nodes.",
       R"(adv : adv[B] = advantge(r) { estimator = grpo })", R"(adv : adv[B] = advantage(r) { estimator = grpo })"},
      {"E0205", "", "`X` is defined on line N, after its use",
       "A flow is written in the order in which values are made. Only `prev` may name a later node.",
       R"(dyn : scalar = adapt_kl(prev(dyn, init=0.1), now) { target = 0.1, horizon = 1000 })"
       "\n"
       R"(now : scalar = adapt_kl(prev(now, init=0.1), prev(now, init=0.1)) { target = 0.1, horizon = 1000 })",
       R"(now : scalar = adapt_kl(prev(now, init=0.1), prev(now, init=0.1)) { target = 0.1, horizon = 1000 })"
       "\n"
       R"(dyn : scalar = adapt_kl(prev(dyn, init=0.1), now) { target = 0.1, horizon = 1000 })"},
      {"E0206", "", "`X` is a KIND, and OTHER KIND is needed here",
       "The name exists and is something else than what is needed: a model where a replica is needed, a data set where "
       "a "
       "reward is.",
       R"(traj : traj[B, T] = rollout(policy, batch, n=8) { max_new = 34 })",
       R"(traj : traj[B, T] = rollout(sampler, batch, n=8) { max_new = 34 })"},
      {"E0207", "", "cannot import `FILE`", "An import is relative to the file in which it stands.",
       R"(import "nowhere.rlflow" as gsm)", ""},
      {"E0208", "", "this import goes in a circle",
       "Files that import each other would have no first one. Move what they share into a third.", "", ""},
      {"E0209", "", "an import may not leave the project",
       "The project is the nearest folder above the program that holds `.git` or `rlflow.toml`, else the working "
       "folder.",
       R"(import "/etc/other.rlflow" as other)", ""},
      {"E0211", "", "a file has one flow, and this is its second",
       "A program is one flow. Share declarations by `import`.", R"(flow again { stop after 1 })", ""},
      {"E0212", "", "this file has no flow, so there is nothing to run",
       "A file of declarations alone is a library. `check` accepts it, `run` needs a flow.", "", ""},
      {"E0213", "", "`X` cannot be VALUE",
       "The value lies outside the domain that the parameter declares with `in`. Both ends of a range are included.",
       R"(-s steps=0)", R"(-s steps=1)"},
      {"E0214", "", "`X` is declared TYPE",
       "The types are int, float, bool, string, path, word, duration, tokens, seqs and bytes.",
       R"(param steps : int = 1.5)", R"(param steps : int = 2)"},
      {"E0215", "", "an expression has no value",
       "Expressions compute with numbers, words and parameters: + - * / %, comparisons, not, and, or, min, max. Units "
       "must "
       "agree, and division by zero, overflow and empty ranges are errors.",
       R"(batch : prompts[P] = take(train, 32 / 0))", R"(batch : prompts[P] = take(train, 32 / 2))"},
      {"E0216", "", "an override has the form `address=value`", "Each address may be given once.", R"(-s steps)",
       R"(-s steps=10)"},
      {"E0217", "", "cannot read overrides from `FILE`",
       "The file that `-f` names is not there, may not be read, or has more than 1 MiB.", "", ""},
      {"E0218", "", "this is not TOML",
       "A file of overrides is TOML. Nested tables mean dotted addresses: `temperature` in the table `[traj]` is "
       "`traj.temperature`. Numbers, true, false and lists of them stand as they are; all else is written in quotes as "
       "on the command line: `timeout = \"5s\"`, `estimator = \"rloo\"`, `gpus = \"gpu[0..4]\"`.",
       "", ""},
      {"E0219", "", "`X` has no metric `Y`",
       "`update` and `evaluate` give metrics, named numbers of which each can be an input: `step.loss`. Some are "
       "reported "
       "only with an input or a setting: the `kl` of an update needs `ref`.",
       R"(now : scalar = adapt_kl(prev(now, init=0.1), prev(step.los, init=0.1)) { target = 0.1, horizon = 1000 })",
       R"(now : scalar = adapt_kl(prev(now, init=0.1), prev(step.loss, init=0.1)) { target = 0.1, horizon = 1000 })"},
  };
  return kCodes;
}

}  // namespace rlflow
