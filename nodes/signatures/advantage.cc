// Signatures of `advantage`: one a family of estimators with equal inputs and outputs.
#include "nodes/signatures/setting.h"
#include "nodes/signatures/tables.h"

namespace rlflow::signatures {
namespace {

SettingSpec gamma() { return with_default(real("gamma", between(0, 1), "discount of later rewards, a token"), 1.0); }

// Every response gets one number, compared with the other responses of its prompt or of the batch.
NodeSignature over_responses() {
  NodeSignature signature = node("advantage/responses", "compares each response with the others of its prompt");
  signature.arguments = {edge("r", Kind::reward, {"B", "T"}, "rewards; those of tokens are added up")};
  signature.outputs = {output("adv", Kind::adv, {"B"})};
  signature.settings = {
      asking(word("estimator",
                  {"grpo", "dr_grpo", "rloo", "opo", "gpg", "pass_at_k", "reinforce", "reinforce_pp_baseline"},
                  "how a response is compared"),
             WordDemand::Asks::groups, "r", {"grpo", "dr_grpo", "rloo", "opo", "pass_at_k", "reinforce_pp_baseline"}),
      only_with(with_default(real("eps", above(0), "added to the standard deviation"), 1e-6), "estimator", {"grpo"}),
      only_with(with_default(word("scale", {"group", "batch", "none"}, "whose standard deviation divides"), "group"),
                "estimator", {"grpo"}),
      only_with(with_default(word("subtract", {"none", "batch"}, "whose mean is taken off"), "none"), "estimator",
                {"reinforce"}),
  };
  return signature;
}

NodeSignature over_tokens() {
  NodeSignature signature = node("advantage/tokens", "discounted reward to go of each token, whitened over the batch");
  signature.arguments = {edge("r", Kind::reward, {"B", "T"}, "rewards; one of a response goes to its last token")};
  signature.outputs = {output("adv", Kind::adv, {"B", "T"})};
  signature.settings = {word("estimator", {"reinforce_pp"}, "how rewards are shared out"), gamma()};
  return signature;
}

NodeSignature with_values() {
  NodeSignature signature = node("advantage/values", "generalised advantage estimation with a critic's values");
  signature.arguments = {edge("r", Kind::reward, {"B", "T"}, "rewards; one of a response goes to its last token"),
                         named(edge("values", Kind::value, {"B", "T"}, "the critic's values"))};
  signature.outputs = {output("adv", Kind::adv, {"B", "T"}), output("returns", Kind::returns, {"B", "T"})};
  signature.settings = {
      word("estimator", {"gae"}, "how rewards and values are weighed"),
      gamma(),
      with_default(real("lambda", between(0, 1), "0: one step ahead, 1: the whole rest"), 0.95),
      flag("whiten", "mean 0 and variance 1 over the batch"),
  };
  return signature;
}

NodeSignature with_baseline() {
  NodeSignature signature = node("advantage/baseline", "reward to go less that of the greedy response of the prompt");
  signature.arguments = {
      edge("r", Kind::reward, {"B", "T"}, "rewards of the sampled responses"),
      greedy(named(edge("baseline", Kind::reward, {"G"}, "rewards of one greedy response a prompt")))};
  signature.outputs = {output("adv", Kind::adv, {"B", "T"})};
  signature.settings = {word("estimator", {"remax"}, "how the baseline is used")};
  return signature;
}

NodeSignature of_several_rewards() {
  NodeSignature signature = node("advantage/several", "weighs group advantages of several rewards, then whitens");
  signature.arguments = {edge("r", Kind::reward, {"B"}, "the first reward"),
                         variadic(edge("more", Kind::reward, {"B"}, "the other rewards"))};
  signature.outputs = {output("adv", Kind::adv, {"B"})};
  signature.settings = {
      asking(word("estimator", {"gdpo"}, "how rewards are joined"), WordDemand::Asks::groups, "r", {"gdpo"}),
      optional(setting("weights", SettingType::real_list, {}, "one weight a reward; 1 each if absent")),
      with_default(real("eps", above(0), "added to the standard deviation"), 1e-6),
  };
  return signature;
}

}  // namespace

std::vector<NodeSignature> advantage_nodes() {
  return {over_responses(), over_tokens(), with_values(), with_baseline(), of_several_rewards()};
}

}  // namespace rlflow::signatures
