// Sizes of dimensions, and bounds of prompts and responses.
#include "compiler/batch_size.h"

#include <set>

#include "compiler/check.h"
#include "compiler/names.h"

namespace rlflow {

std::optional<std::int64_t> quantity(const Settings& settings, const char* name, Unit unit) {
  const Value* value = setting(settings, name);
  const Quantity* quantity = value ? value->get<Quantity>() : nullptr;
  if (quantity == nullptr || quantity->unit != unit || quantity->count == 0) return std::nullopt;
  return quantity->count;
}

const Dim* batch_of(const Pipeline& pipeline, const FlowNode& node) {
  for (const NodeInput& input : node.inputs) {
    if (input.from != NodeInput::From::edge) continue;
    const NodeOutput& output = pipeline.node(input.node).outputs[static_cast<std::size_t>(input.port)];
    bool known = !output.dims.empty() && output.dims[0].valid();
    return known ? &pipeline.dims[output.dims[0].index()] : nullptr;
  }
  return nullptr;
}

std::string arithmetic_of(const Pipeline& pipeline, const Dim& batch) {
  const FlowNode& maker = pipeline.node(batch.maker);
  std::string size = with_commas(*batch.size);
  if (maker.constants.count("n") == 0) return batch.name + " = " + size;
  std::int64_t n = int_at(maker.constants, "n");
  return batch.name + " = prompts " + with_commas(*batch.size / n) + " x n " + with_commas(n) + " = " + size;
}

LongestSequence longest_sequence(const Pipeline& pipeline, NodeId id) {
  std::set<NodeId> makers = ancestors(pipeline, id);
  makers.insert(id);
  std::optional<std::int64_t> prompt;
  std::optional<std::int64_t> response;
  for (NodeId maker : makers) {
    const FlowNode& node = pipeline.node(maker);
    if (const Value* value = setting(node.settings, "max_new"); value != nullptr && value->get<std::int64_t>()) {
      response = *value->get<std::int64_t>();
    }
    if (!node.data.valid()) continue;
    if (auto most = quantity(pipeline.data[node.data.index()].settings, "max_prompt", Unit::tokens)) prompt = most;
  }
  LongestSequence longest{prompt.value_or(0) + response.value_or(0), prompt.has_value(), ""};
  if (prompt) longest.note = "max_prompt " + with_commas(*prompt);
  if (response) longest.note += (prompt ? " + max_new " : "max_new ") + with_commas(*response);
  if (prompt && response) longest.note += " = " + with_commas(longest.tokens);
  return longest;
}

}  // namespace rlflow
