// What depends on what, and what is used at all.
#include "compiler/check.h"

namespace rlflow {

std::set<NodeId> ancestors(const Pipeline& pipeline, NodeId id) {
  std::set<NodeId> found;
  std::vector<NodeId> open{id};
  while (!open.empty()) {
    NodeId at = open.back();
    open.pop_back();
    for (const NodeInput& input : pipeline.node(at).inputs) {
      if (input.from == NodeInput::From::edge && found.insert(input.node).second) open.push_back(input.node);
    }
  }
  return found;
}

bool is_live(const FlowNode& node) { return node.known && !node.removed && node.signature != nullptr; }

Usage usage_of(const Pipeline& pipeline) {
  Usage usage;
  for (const FlowNode& node : pipeline.nodes) {
    if (node.removed) continue;
    if (node.model.valid()) usage.models.insert(node.model);
    if (node.replica.valid()) usage.replicas.insert(node.replica);
    if (node.data.valid()) usage.data.insert(node.data);
    if (node.reward.valid()) usage.rewards.insert(node.reward);
    if (node.on.valid()) usage.groups.insert(node.on);
    usage.models.insert(node.models.begin(), node.models.end());
  }
  for (ReplicaId id : usage.replicas) {
    const Replica& replica = pipeline.replicas[id.index()];
    if (replica.model.valid()) usage.models.insert(replica.model);
    if (replica.group.valid()) usage.groups.insert(replica.group);
  }
  // The base of a model is made of it.
  for (ModelId id : std::set<ModelId>(usage.models)) {
    if (pipeline.models[id.index()].base_of.valid()) usage.models.insert(pipeline.models[id.index()].base_of);
  }
  for (ModelId id : usage.models) {
    if (pipeline.models[id.index()].group.valid()) usage.groups.insert(pipeline.models[id.index()].group);
  }
  return usage;
}

const NodeInput* input_named(const FlowNode& node, const char* name) {
  for (const NodeInput& input : node.inputs) {
    if (node.signature->arguments[static_cast<std::size_t>(input.argument)].name == name) return &input;
  }
  return nullptr;
}

Edit add_setting(const FlowNode& node, const std::string& text, const SourceMap& sources) {
  if (!node.settings_span.valid()) {
    // A block stands behind the call and its clauses, which is where the statement ends.
    return {{node.span.file, node.span.end, node.span.end}, " { " + text + " }"};
  }
  Span inside = node.settings_span;
  std::uint32_t at = inside.begin + 1;
  bool empty = true;
  for (char c : sources.text(inside).substr(1, inside.end - inside.begin - 2)) empty = empty && (c == ' ' || c == '\n');
  return {{inside.file, at, at}, " " + text + (empty ? " " : ",")};
}

}  // namespace rlflow
