// Signatures of the nodes that stand only in `every` blocks.
#include "nodes/signatures/setting.h"
#include "nodes/signatures/tables.h"

namespace rlflow::signatures {
namespace {

NodeSignature evaluate(std::string key, ArgumentSpec judge, std::string doc) {
  NodeSignature signature = node(std::move(key), std::move(doc));
  signature.arguments = {argument("replica", ArgumentRole::replica, "whose weights answer"),
                         argument("data", ArgumentRole::data, "every row of it is asked"), std::move(judge)};
  signature.outputs = {metrics_output({{"accuracy"}, {"clip_ratio"}})};
  signature.settings = {
      with_default(integer("n", at_least(1), "responses for each prompt"), 1),
      with_default(real("temperature", at_least(0), "divides the logits; 0 takes the most likely token"), 1.0),
      integer("max_new", at_least(1), "most tokens of a response, the end token included"),
  };
  for (SettingSpec& spec : choice_settings()) signature.settings.push_back(std::move(spec));
  signature.version = 2;
  signature.only_in_every = true;
  signature.needs_tokenizer = true;
  return signature;
}

NodeSignature checkpoint() {
  NodeSignature signature = node("checkpoint", "saves models so that a resume need not redo their updates");
  signature.arguments = {variadic(argument("models", ArgumentRole::trainable, "the models that are also exported"))};
  signature.settings = {
      outside_meaning(with_default(integer("keep", at_least(1), "newest checkpoints kept"), 2)),
      not_executable(outside_meaning(optional(text("best", "metric whose best checkpoint is kept too")))),
  };
  signature.effect = NodeEffect::checkpoint;
  signature.only_in_every = true;
  return signature;
}

}  // namespace

std::vector<NodeSignature> schedule_nodes() {
  NodeSignature by_function = evaluate("evaluate/function", argument("reward", ArgumentRole::reward, "the judge"),
                                       "answers a data set and judges it with a reward function");
  by_function.settings.push_back(judging_workers());
  NodeSignature by_model =
      evaluate("evaluate/model", with_head(argument("model", ArgumentRole::model, "the judge"), {"reward"}),
               "answers a data set and judges it with a reward model");
  by_model.runs = false;
  return {by_function, by_model, checkpoint()};
}

}  // namespace rlflow::signatures
