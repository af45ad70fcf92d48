// Signatures of the nodes that make and choose trajectories.
#include "nodes/signatures/setting.h"
#include "nodes/signatures/tables.h"

namespace rlflow::signatures {
namespace {

SettingSpec given(SettingSpec spec) {
  spec.optional = false;
  return spec;
}

NodeSignature rollout() {
  const std::vector<SettingSpec> choice = choice_settings();
  NodeSignature signature = node("rollout", "samples n responses for each prompt, with their log-probabilities");
  signature.version = 2;
  ArgumentSpec n = named(argument("n", ArgumentRole::constant, "responses for each prompt"));
  n.lo = 1;
  n.fallback = Value(std::int64_t{1});
  signature.arguments = {argument("replica", ArgumentRole::replica, "whose weights generate"),
                         edge("prompts", Kind::prompts, {"P"}, "what to answer"), n};
  signature.outputs = {output("traj", Kind::traj, {"B", "T"})};
  signature.settings = {
      with_default(real("temperature", at_least(0), "divides the logits; 0 takes the most likely token"), 1.0),
      integer("max_new", at_least(1), "most tokens of a response, the end token included"),
      with_default(given(choice[0]), 0),
      with_default(given(choice[1]), 1.0),
      with_default(given(choice[2]), 0),
      with_default(given(choice[3]), 0.0),
      choice[4],
      choice[5],
      not_executable(with_default(integer("shards", at_least(1), "parts of the batch that commit on their own"), 1)),
      outside_meaning(
          with_default(word("emit", {"batch", "group"}, "what moves on at once when it is finished"), "batch")),
  };
  signature.needs_tokenizer = true;
  return signature;
}

NodeSignature filter() {
  NodeSignature signature = node("filter", "keeps the prompt groups worth training on");
  signature.arguments = {edge("traj", Kind::traj, {"B", "T"}, "the trajectories"),
                         edge("r", Kind::reward, {"B"}, "their rewards")};
  signature.outputs = {output("traj", Kind::traj, {"F", "T"}), output("reward", Kind::reward, {"F"})};
  signature.settings = {
      word("drop", {"uniform_groups", "overlong"}, "groups whose rewards are all equal, or responses without an end"),
      with_default(integer("refill", at_least(0), "rounds of sampling again for the missing prompts"), 0),
  };
  return signature;
}

}  // namespace

std::vector<SettingSpec> choice_settings() {
  return {
      optional(integer("min_new", at_least(0), "no end token and no stop text before this many tokens")),
      optional(real("top_p", {0.0, 1.0, true}, "samples from the smallest set with this probability")),
      optional(integer("top_k", at_least(0), "samples from the k most likely tokens; 0: all")),
      optional(real("min_p", between(0, 1), "drops tokens below this share of the most likely one's probability")),
      optional(setting("stop", SettingType::texts, {}, "a response ends when its text holds this")),
      optional(setting("budget", SettingType::tokens, at_least(1), "KV tokens held at once on a device")),
  };
}

std::vector<NodeSignature> sampling_nodes() { return {rollout(), filter()}; }

}  // namespace rlflow::signatures
