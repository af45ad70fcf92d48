// Signatures of the nodes that read data sets.
#include "nodes/signatures/setting.h"
#include "nodes/signatures/tables.h"

namespace rlflow::signatures {
namespace {

// take and its relatives differ in what they make of a row.
NodeSignature take_node(std::string key, OutputSpec rows, std::string doc) {
  NodeSignature signature = node(std::move(key), std::move(doc));
  ArgumentSpec count = argument("count", ArgumentRole::constant, "rows a step");
  count.lo = 1;
  signature.arguments = {argument("data", ArgumentRole::data, "the data set"), count};
  OutputSpec cursor = output("cursor", Kind::cursor, {});
  cursor.carried = true;
  signature.outputs = {std::move(rows), cursor};
  signature.needs_tokenizer = true;
  return signature;
}

}  // namespace

std::vector<NodeSignature> reading_nodes() {
  NodeSignature prompts =
      take_node("take", output("prompts", Kind::prompts, {"P"}), "takes the next prompts of a data set");
  NodeSignature examples = take_node("take_examples", output("examples", Kind::examples, {"P"}),
                                     "takes the next prompts with their responses, to imitate");
  NodeSignature pairs = take_node("take_pairs", output("pairs", Kind::pairs, {"P"}),
                                  "takes the next prompts with a chosen and a rejected response");
  return {prompts, examples, pairs};
}

}  // namespace rlflow::signatures
