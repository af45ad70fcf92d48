// On which row of the picture does each box stand?
#include "viz/layers.h"

#include <algorithm>
#include <optional>

namespace rlflow {
namespace {

// A broken program may hold edges that lead nowhere or backward; they do not lift anything.
std::int32_t layer_below_inputs(const Pipeline& pipeline, std::size_t index, const std::vector<std::int32_t>& layers) {
  std::int32_t layer = 0;
  for (const NodeInput& input : pipeline.nodes[index].inputs) {
    if (input.from != NodeInput::From::edge || !input.node.valid() || input.node.index() >= index) continue;
    layer = std::max(layer, layers[input.node.index()] + 1);
  }
  return layer;
}

std::vector<std::int32_t> node_layers(const Pipeline& pipeline) {
  std::vector<std::int32_t> layers(pipeline.nodes.size(), 0);
  std::int32_t below_step = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (pipeline.nodes[i].removed || pipeline.nodes[i].block.valid()) continue;
    layers[i] = layer_below_inputs(pipeline, i, layers);
    below_step = std::max(below_step, layers[i] + 1);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (pipeline.nodes[i].removed || !pipeline.nodes[i].block.valid()) continue;
    layers[i] = std::max(below_step, layer_below_inputs(pipeline, i, layers));
  }
  return layers;
}

// The smallest layer of the nodes that `chosen` picks.
template <class Chosen>
std::optional<std::int32_t> first_layer(const Pipeline& pipeline, const std::vector<std::int32_t>& layers,
                                        Chosen chosen) {
  std::optional<std::int32_t> first;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const FlowNode& node = pipeline.nodes[i];
    if (node.removed || !chosen(node)) continue;
    first = first ? std::min(*first, layers[i]) : layers[i];
  }
  return first;
}

bool reads(const FlowNode& node, ModelId model) {
  const bool listed = std::find(node.models.begin(), node.models.end(), model) != node.models.end();
  return listed || (node.model == model && !node.replica.valid());
}

}  // namespace

bool is_update(const FlowNode& node) {
  return node.signature != nullptr ? node.signature->effect == NodeEffect::update : node.op == "update";
}

Layers layers_of(const Pipeline& pipeline) {
  Layers layers;
  layers.nodes = node_layers(pipeline);
  for (std::size_t m = 0; m < pipeline.models.size(); ++m) {
    const ModelId id(m);
    auto layer = first_layer(pipeline, layers.nodes, [&](const FlowNode& n) { return is_update(n) && n.model == id; });
    if (!layer) layer = first_layer(pipeline, layers.nodes, [&](const FlowNode& n) { return reads(n, id); });
    layers.models.push_back(layer.value_or(0));
  }
  for (std::size_t r = 0; r < pipeline.replicas.size(); ++r) {
    const ReplicaId id(r);
    const ModelId model = pipeline.replicas[r].model;
    auto layer = first_layer(pipeline, layers.nodes, [&](const FlowNode& n) { return n.replica == id; });
    const bool has_model = model.valid() && model.index() < layers.models.size();
    layers.replicas.push_back(layer.value_or(has_model ? layers.models[model.index()] : 0));
  }
  return layers;
}

}  // namespace rlflow
