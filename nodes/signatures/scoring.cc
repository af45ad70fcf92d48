// Signatures of the nodes that judge responses.
#include "nodes/signatures/setting.h"
#include "nodes/signatures/tables.h"

namespace rlflow::signatures {
namespace {

NodeSignature score_function() {
  NodeSignature signature = node("score/function", "judges each response with a reward function");
  signature.arguments = {argument("reward", ArgumentRole::reward, "the judge"),
                         edge("traj", Kind::traj, {"B", "T"}, "the responses")};
  signature.outputs = {output("reward", Kind::reward, {"B"})};
  signature.settings = {judging_workers()};
  signature.needs_tokenizer = true;
  signature.drops_groups = true;
  return signature;
}

NodeSignature score_model() {
  NodeSignature signature = node("score/model", "judges each response with a reward model");
  signature.arguments = {with_head(argument("model", ArgumentRole::model, "the judge"), {"reward"}),
                         edge("traj", Kind::traj, {"B", "T"}, "the responses")};
  signature.outputs = {output("reward", Kind::reward, {"B"})};
  signature.settings = {optional(setting("micro", SettingType::seqs, at_least(1), "responses in one forward pass"))};
  signature.needs_tokenizer = true;
  signature.runs = false;
  return signature;
}

NodeSignature combine() {
  NodeSignature signature = node("combine", "adds several rewards of the same responses");
  signature.arguments = {variadic(edge("rewards", Kind::reward, {"B"}, "the rewards"))};
  signature.outputs = {output("reward", Kind::reward, {"B"})};
  signature.settings = {
      optional(setting("weights", SettingType::real_list, {}, "one weight a reward; 1 each if absent")),
      with_default(word("normalize", {"none", "batch", "group"}, "over what each reward is whitened first"), "none"),
  };
  return signature;
}

}  // namespace

std::vector<NodeSignature> scoring_nodes() { return {score_function(), score_model(), combine()}; }

}  // namespace rlflow::signatures
