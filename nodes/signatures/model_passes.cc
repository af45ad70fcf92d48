// Signatures of the nodes that read trajectories with a model, and of the KL in the reward.
#include "nodes/signatures/setting.h"
#include "nodes/signatures/tables.h"

namespace rlflow::signatures {
namespace {

SettingSpec micro() {
  return optional(
      setting("micro", SettingType::tokens, at_least(1), "tokens in one forward pass, a data-parallel rank"));
}

NodeSignature logprob() {
  NodeSignature signature = node("logprob", "log-probability of each response token under a model");
  signature.version = 2;
  signature.arguments = {with_head(argument("model", ArgumentRole::model, "the model that reads"), {"lm"}),
                         edge("traj", Kind::traj, {"B", "T"}, "the responses")};
  signature.outputs = {output("logp", Kind::logp, {"B", "T"})};
  signature.settings = {micro(), not_executable(flag("entropy", "also reports the mean entropy"))};
  return signature;
}

NodeSignature logprob_of_pairs() {
  NodeSignature signature = node("logprob/pairs", "log-probability of each token of both responses of each pair");
  signature.version = 2;
  signature.arguments = {with_head(argument("model", ArgumentRole::model, "the model that reads"), {"lm"}),
                         edge("pairs", Kind::pairs, {"P"}, "the pairs")};
  signature.outputs = {output("logp", Kind::logp, {"P", "T"})};
  signature.settings = {micro()};
  return signature;
}

NodeSignature value() {
  NodeSignature signature = node("value", "value of each response token under a critic");
  signature.arguments = {with_head(argument("critic", ArgumentRole::model, "the critic"), {"value"}),
                         edge("traj", Kind::traj, {"B", "T"}, "the responses")};
  signature.outputs = {output("value", Kind::value, {"B", "T"})};
  signature.settings = {micro()};
  return signature;
}

NodeSignature kl_penalty() {
  NodeSignature signature = node("kl_penalty", "takes the KL to a reference from the reward, token by token");
  signature.arguments = {edge("r", Kind::reward, {"B"}, "reward of each response, given to its last token"),
                         edge("logp", Kind::logp, {"B", "T"}, "log-probabilities of the policy"),
                         edge("ref", Kind::logp, {"B", "T"}, "log-probabilities of the reference"),
                         named(edge("coef", Kind::scalar, {}, "weight of the penalty"))};
  signature.outputs = {output("reward", Kind::reward, {"B", "T"}), output("kl", Kind::scalar, {})};
  signature.settings = {with_default(word("kind", {"k1", "abs", "k2", "k3"}, "estimator of the KL"), "k1")};
  return signature;
}

NodeSignature adapt_kl() {
  NodeSignature signature = node("adapt_kl", "moves the KL coefficient so that the KL stays near a target");
  signature.arguments = {edge("coef", Kind::scalar, {}, "the coefficient of the last step"),
                         edge("kl", Kind::scalar, {}, "the KL measured in the last step")};
  signature.outputs = {output("coef", Kind::scalar, {})};
  signature.settings = {real("target", above(0), "the KL wanted, nats a token"),
                        integer("horizon", at_least(1), "responses over which it is corrected")};
  return signature;
}

}  // namespace

std::vector<NodeSignature> model_pass_nodes() {
  return {logprob(), logprob_of_pairs(), value(), kl_penalty(), adapt_kl()};
}

}  // namespace rlflow::signatures
