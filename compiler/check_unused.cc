// What the program computes or declares and nothing uses.
#include <string>

#include "compiler/batch_size.h"
#include "compiler/check.h"

namespace rlflow {
namespace {

// An optional input of an update that would take this output: "ref=refl".
std::string possible_use(const CheckInput& input, const FlowNode& node, const NodeOutput& output, Span& place) {
  std::string use;
  for (const FlowNode& update : input.pipeline.nodes) {
    if (!is_live(update) || update.signature->effect != NodeEffect::update) continue;
    for (const NodeInput& empty : update.inputs) {
      const ArgumentSpec& spec = update.signature->arguments[static_cast<std::size_t>(empty.argument)];
      bool takes =
          empty.from == NodeInput::From::absent && spec.role == ArgumentRole::edge && spec.kinds.front() == output.kind;
      bool own = node.model == update.model;
      if (!takes || (output.kind == Kind::logp && own != (spec.name == "old"))) continue;
      use = spec.name + "=" + output.name;
      place = update.callee_span;
    }
  }
  return use;
}

// What the node costs: "B = prompts 32 x n 8 = 256 sequences through `ref`, each up to max_new 34 tokens …". Empty
// where the program does not fix it.
std::string cost_of(const Pipeline& pipeline, NodeId id) {
  const FlowNode& node = pipeline.node(id);
  const Dim* batch = batch_of(pipeline, node);
  for (const NodeOutput& output : node.outputs) {
    if (output.known && !output.dims.empty()) batch = &pipeline.dims[output.dims[0].index()];
  }
  if (batch == nullptr || !batch->size || !batch->maker.valid()) return "";
  std::string text = arithmetic_of(pipeline, *batch) + (node.model.valid() ? " sequences" : " rows");
  if (!node.model.valid()) return text;
  text += " through `" + pipeline.models[node.model.index()].name + "`";
  const LongestSequence longest = longest_sequence(pipeline, id);
  if (longest.tokens == 0) return text;
  return text + ", each up to " + longest.note + " tokens" + (longest.with_prompt ? "" : " behind its prompt");
}

void check_node(const CheckInput& input, NodeId id, Diagnostics& diagnostics) {
  const FlowNode& node = input.pipeline.node(id);
  if (!is_live(node) || node.signature->effect != NodeEffect::none || node.signature->only_in_every) return;
  for (const NodeOutput& output : node.outputs) {
    if (output.readers > 0) return;
  }
  const NodeOutput* first = node.outputs.empty() || node.outputs[0].name.empty() ? nullptr : &node.outputs[0];
  Diagnostic& message =
      diagnostics.warning("W0701", first ? first->span : node.callee_span, "nothing reads `" + node.name + "`");
  if (std::string cost = cost_of(input.pipeline, id); !cost.empty())
    message.note("computed for nothing each step: " + cost);
  Span place;
  std::string use = first ? possible_use(input, node, *first, place) : "";
  if (use.empty()) {
    message.help("delete the line, or give `" + node.name + "` to a node that needs it");
  } else {
    std::string line = std::to_string(input.sources.position(place.file, place.begin).line);
    message.help("pass `" + use + "` to `update` (line " + line + ") or delete the line");
  }
}

template <class Declared>
void check_declared(const std::vector<Declared>& list, const char* code, const char* noun, Diagnostics& diagnostics) {
  for (const Declared& declared : list) {
    // What an import offers need not all be used.
    if (declared.used || declared.name_span.file != FileId(0)) continue;
    diagnostics.warning(code, declared.name_span, std::string(noun) + " `" + declared.name + "` is never used")
        .help("delete the line");
  }
}

}  // namespace

void check_unused(const CheckInput& input, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  if (pipeline.flow.empty()) return;  // a library is for others
  for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) check_node(input, NodeId(n), diagnostics);
  check_declared(pipeline.params, "W0702", "parameter", diagnostics);
  check_declared(pipeline.groups, "W0703", "group", diagnostics);
  check_declared(pipeline.models, "W0704", "model", diagnostics);
  check_declared(pipeline.replicas, "W0705", "replica", diagnostics);
  check_declared(pipeline.data, "W0706", "data set", diagnostics);
  check_declared(pipeline.rewards, "W0707", "reward function", diagnostics);
}

}  // namespace rlflow
