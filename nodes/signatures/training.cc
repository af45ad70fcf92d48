// Signatures of `update`: one a kind of batch.
#include "nodes/signatures/setting.h"
#include "nodes/signatures/tables.h"

namespace rlflow::signatures {
namespace {

// Responses have a longest length to divide by, examples have none.
SettingSpec aggregate(bool of_responses) {
  std::vector<std::string> words = {"token_mean", "token_sum", "seq_mean_token_sum", "seq_mean_token_mean"};
  if (of_responses) words.push_back("seq_mean_token_sum_norm");
  return with_default(word("aggregate", std::move(words), "how token losses become one number"), "token_mean");
}

// How the batch is cut: what every update shares.
std::vector<SettingSpec> cutting() {
  return {
      with_default(integer("epochs", at_least(1), "passes over the batch in one step"), 1),
      optional(setting("minibatch", SettingType::seqs, at_least(1), "responses of one optimizer step; all if absent")),
      optional(setting("micro", SettingType::tokens, at_least(1),
                       "tokens in one forward and backward pass, a data-parallel rank; all if absent")),
      outside_meaning(
          flag("recompute", "keeps the input of each layer alone and computes the rest again: less memory")),
  };
}

std::vector<SettingSpec> joined(std::vector<SettingSpec> a, const std::vector<SettingSpec>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

SettingSpec off_policy() {
  const auto bound = [](const char* name, const char* doc) { return real(name, at_least(0), doc); };
  std::vector<CallSpec> calls = {
      {"truncate", {bound("c", "largest weight of a token")}, "weights each token by min(ratio, c)"},
      {"truncate_sequence", {bound("c", "largest weight of a response")}, "the same with the ratio of the response"},
      {"mask",
       {bound("lo", "smallest ratio kept"), bound("hi", "largest ratio kept")},
       "drops tokens outside lo and hi"},
      {"reject",
       {word("kind", {"k1", "k2", "k3"}, "how far a response has moved"), bound("bound", "largest distance kept")},
       "drops responses further away than the bound"},
  };
  std::vector<std::string> names;
  for (const CallSpec& spec : calls) names.push_back(spec.name);
  return needing(optional(call("off_policy", std::move(calls),
                               "corrects for samples of older weights, by the ratio of `old` to the sampled ones")),
                 names, "old", "earlier log-probs", "add a node `old = logprob(POLICY, TRAJ)` and `old=old`");
}

// What every update reports, and `more`.
NodeSignature update(std::string key, const std::vector<MetricSpec>& more, std::string doc) {
  NodeSignature signature = node(std::move(key), std::move(doc));
  signature.version = 2;
  std::vector<MetricSpec> metrics = {{"loss"}, {"grad_norm"}, {"lr"}, {"optimizer_steps"}, {"tokens"}};
  metrics.insert(metrics.end(), more.begin(), more.end());
  signature.outputs = {metrics_output(std::move(metrics))};
  signature.effect = NodeEffect::update;
  return signature;
}

NodeSignature update_policy() {
  NodeSignature signature = update("update/policy",
                                   {{"clipfrac"},
                                    {"approx_kl"},
                                    {"entropy"},
                                    {"kl", "ref"},
                                    {"clipfrac_lower", "dual_clip"},
                                    {"off_policy_kl", "off_policy"},
                                    {"off_policy_k3", "off_policy"},
                                    {"off_policy_chi2", "off_policy"},
                                    {"off_policy_ess", "off_policy"}},
                                   "moves a policy along its advantages");
  signature.arguments = {
      with_head(argument("model", ArgumentRole::trainable, "the policy"), {"lm"}),
      edge("traj", Kind::traj, {"B", "T"}, "the responses"),
      edge("adv", Kind::adv, {"B", "T"}, "their advantages"),
      optional(named(edge("old", Kind::logp, {"B", "T"}, "log-probabilities before this step; absent: as sampled"))),
      optional(named(edge("ref", Kind::logp, {"B", "T"}, "log-probabilities of the reference, for kl"))),
  };
  const std::vector<std::string> losses = {"ppo",       "gspo",    "cispo",   "sapo",     "gmpo",  "gpg",
                                           "reinforce", "dppo_tv", "dppo_kl", "clip_cov", "kl_cov"};
  const std::vector<std::string> clipped = {"ppo", "gspo", "cispo", "gmpo", "dppo_tv", "dppo_kl", "clip_cov"};
  signature.settings = joined(
      {
          asking(with_default(word("loss", losses, "the policy loss"), "ppo"), WordDemand::Asks::one_a_response, "adv",
                 {"gspo", "gmpo"}),
          only_with(
              with_default(real("clip", above(0), "how far below 1 the ratio counts; dppo: how far a token may move"),
                           0.2),
              "loss", clipped),
          only_with(optional(real("clip_high", above(0), "how far above 1 the ratio counts; clip if absent")), "loss",
                    clipped),
          only_with(optional(real("dual_clip", above(1),
                                  "bounds the loss of negative advantages by this multiple; off if absent")),
                    "loss", {"ppo"}),
          with_default(real("kl", at_least(0), "weight of the KL to the reference"), 0.0),
          with_default(word("kl_kind", {"k1", "abs", "k2", "k3", "k1_plus", "abs_plus", "k3_plus"},
                            "estimator of the KL; …_plus: its value with the gradient of k2"),
                       "k3"),
          with_default(real("entropy", at_least(0), "weight of the entropy bonus"), 0.0),
          aggregate(true),
          off_policy(),
      },
      cutting());
  return signature;
}

NodeSignature update_critic() {
  NodeSignature signature = update("update/critic", {{"clipfrac"}}, "fits a critic to returns");
  signature.arguments = {
      with_head(argument("model", ArgumentRole::trainable, "the critic"), {"value"}),
      edge("traj", Kind::traj, {"B", "T"}, "the responses"),
      named(edge("returns", Kind::returns, {"B", "T"}, "what the values should be")),
      named(edge("old", Kind::value, {"B", "T"}, "values before this step, for clip")),
  };
  signature.settings =
      joined({with_default(word("loss", {"value"}, "the critic's loss"), "value"),
              with_default(real("clip", above(0), "how far a value may move from its old one"), 0.2), aggregate(true)},
             cutting());
  return signature;
}

NodeSignature update_sft() {
  NodeSignature signature = update("update/sft", {}, "imitates the responses of examples");
  signature.arguments = {with_head(argument("model", ArgumentRole::trainable, "the model"), {"lm"}),
                         edge("examples", Kind::examples, {"P"}, "prompts with responses")};
  signature.settings =
      joined({with_default(word("loss", {"sft"}, "cross-entropy of the response tokens"), "sft"), aggregate(false)},
             cutting());
  return signature;
}

NodeSignature update_pairs() {
  NodeSignature signature =
      update("update/pairs", {{"accuracy"}, {"margin"}}, "prefers the chosen response of each pair");
  signature.arguments = {
      argument("model", ArgumentRole::trainable, "the model"),
      edge("pairs", Kind::pairs, {"P"}, "prompts with a chosen and a rejected response"),
      optional(named(edge("ref", Kind::logp, {"P", "T"}, "log-probabilities of the reference (dpo)"))),
  };
  signature.settings = joined(
      {needing(
           not_executable(word("loss", {"dpo", "reward"}, "dpo for a policy, reward for a reward model"), {"reward"}),
           {"dpo"}, "ref", "reference log-probs",
           "add a frozen model `ref`, a node `refl = logprob(ref, pairs)` and `ref=refl`"),
       only_with(with_default(real("beta", above(0), "strength of the pull to the reference"), 0.1), "loss", {"dpo"})},
      cutting());
  return signature;
}

}  // namespace

std::vector<NodeSignature> update_nodes() { return {update_policy(), update_critic(), update_sft(), update_pairs()}; }

}  // namespace rlflow::signatures
