// What does the picture of a program show?
#include "viz/pipeline_diagram.h"

#include <algorithm>
#include <map>
#include <set>

#include "viz/box_text.h"
#include "viz/layers.h"

namespace rlflow {
namespace {

// Where the boxes of the pipeline's parts stand in Diagram::boxes; nullopt for what is not drawn.
using BoxIndex = std::optional<std::size_t>;

constexpr std::size_t kMostErrorBoxes = 8;  // the terminal has them all

class Drawing {
 public:
  Drawing(const Pipeline& pipeline, const PlacedPipeline& placed, const std::vector<DiagramError>& errors)
      : pipeline_(pipeline), placed_(placed), errors_(errors), layers_(layers_of(pipeline)) {}

  Diagram draw() {
    diagram_.title = pipeline_.flow.empty() ? "library" : pipeline_.flow;
    add_models();
    add_replicas();
    add_nodes();
    for (std::size_t i = 0; i < nodes_.size(); ++i) add_data_edges(i);
    for (std::size_t i = 0; i < nodes_.size(); ++i) add_weight_edges(i);
    add_syncs();
    add_other_errors();
    return std::move(diagram_);
  }

 private:
  void add_models();
  void add_replicas();
  void add_nodes();
  void add_data_edges(std::size_t node);
  void add_weight_edges(std::size_t node);
  void add_syncs();
  void add_other_errors();

  std::size_t add_box(DiagramBox box, const Span& span);
  void connect(BoxIndex from, BoxIndex to, EdgeStyle style, const std::string& label);
  std::optional<std::size_t> cluster_of(GroupId group);
  GroupId group_of_node(std::size_t node) const;
  bool is_broken(const Span& span);

  template <class Id>
  static BoxIndex at(const std::vector<BoxIndex>& boxes, Id id) {
    return id.valid() && id.index() < boxes.size() ? boxes[id.index()] : std::nullopt;
  }

  const Pipeline& pipeline_;
  const PlacedPipeline& placed_;
  const std::vector<DiagramError>& errors_;
  std::set<const DiagramError*> marked_;  // those that stand on a box
  Layers layers_;
  Diagram diagram_;
  std::map<GroupId, std::size_t> clusters_;
  std::set<std::string> ids_;
  std::vector<BoxIndex> models_, replicas_, nodes_;
};

// Whether an error stands on the statement; such errors need no box of their own.
bool Drawing::is_broken(const Span& span) {
  bool broken = false;
  for (const DiagramError& error : errors_) {
    const Span& place = error.place;
    if (!span.valid() || place.file != span.file || place.begin < span.begin || place.begin > span.end) continue;
    marked_.insert(&error);
    broken = true;
  }
  return broken;
}

void Drawing::add_other_errors() {
  std::size_t left = 0;
  for (const DiagramError& error : errors_) {
    if (marked_.count(&error) > 0) continue;
    if (++left > kMostErrorBoxes) continue;
    DiagramBox box;
    box.id = "error:" + std::to_string(left);
    box.title = error.line;
    box.subtitle = error.headline;
    box.layer = static_cast<std::int32_t>(left) - static_cast<std::int32_t>(kMostErrorBoxes) - 2;  // above the flow
    box.broken = true;
    diagram_.boxes.push_back(std::move(box));
  }
  if (left <= kMostErrorBoxes) return;
  DiagramBox rest;
  rest.id = "error:rest";
  rest.layer = -1;
  rest.title = std::to_string(left - kMostErrorBoxes) + " more errors";
  rest.broken = true;
  diagram_.boxes.push_back(std::move(rest));
}

// A broken program may use one name twice; Graphviz would draw one box for both.
std::size_t Drawing::add_box(DiagramBox box, const Span& span) {
  const std::string id = box.id;
  for (int copy = 2; !ids_.insert(box.id).second; ++copy) box.id = id + "#" + std::to_string(copy);
  box.broken = is_broken(span);
  diagram_.boxes.push_back(std::move(box));
  return diagram_.boxes.size() - 1;
}

std::optional<std::size_t> Drawing::cluster_of(GroupId group) {
  if (!group.valid() || group.index() >= pipeline_.groups.size()) return std::nullopt;
  const auto [place, is_new] = clusters_.try_emplace(group, diagram_.clusters.size());
  if (is_new)
    diagram_.clusters.push_back({pipeline_.groups[group.index()].name, devices_text(pipeline_.groups[group.index()])});
  return place->second;
}

GroupId Drawing::group_of_node(std::size_t node) const {
  if (node < placed_.node_groups.size()) return placed_.node_groups[node];
  return pipeline_.nodes[node].on;
}

void Drawing::connect(BoxIndex from, BoxIndex to, EdgeStyle style, const std::string& label) {
  if (from && to) diagram_.edges.push_back({*from, *to, style, label});
}

// What only a removed node would read is not drawn, as it is not loaded.
void Drawing::add_models() {
  for (std::size_t i = 0; i < pipeline_.models.size(); ++i) {
    const Model& model = pipeline_.models[i];
    const ModelId id(i);
    auto uses = [&](const FlowNode& node) {
      return node.model == id || std::find(node.models.begin(), node.models.end(), id) != node.models.end();
    };
    const bool read = std::any_of(pipeline_.nodes.begin(), pipeline_.nodes.end(), uses);
    const bool kept = std::any_of(pipeline_.nodes.begin(), pipeline_.nodes.end(),
                                  [&](const FlowNode& node) { return !node.removed && uses(node); });
    models_.emplace_back();
    if (read && !kept) continue;
    DiagramBox box;
    box.id = "model:" + model.name;
    box.shape = BoxShape::model;
    box.title = model.name;
    box.subtitle = loader_text(model);
    box.knobs = model_texts(model);
    box.cluster = cluster_of(model.group);
    box.layer = layers_.models[i];
    models_.back() = add_box(std::move(box), model.span);
  }
}

void Drawing::add_replicas() {
  for (std::size_t i = 0; i < pipeline_.replicas.size(); ++i) {
    const Replica& replica = pipeline_.replicas[i];
    const bool in_place = i < placed_.replicas_in_place.size() && placed_.replicas_in_place[i];
    DiagramBox box;
    box.id = "replica:" + replica.name;
    box.shape = BoxShape::replica;
    box.title = replica.name;
    const bool has_model = replica.model.valid() && replica.model.index() < pipeline_.models.size();
    box.subtitle = "replica of " + (has_model ? pipeline_.models[replica.model.index()].name : std::string("?"));
    box.knobs = {std::string(dtype_name(replica.dtype)) + (in_place ? ", in place" : ", a copy")};
    box.cluster = cluster_of(replica.group);
    box.layer = layers_.replicas[i];
    replicas_.emplace_back(add_box(std::move(box), replica.span));
  }
}

void Drawing::add_nodes() {
  for (std::size_t i = 0; i < pipeline_.nodes.size(); ++i) {
    const FlowNode& node = pipeline_.nodes[i];
    nodes_.emplace_back();
    if (node.removed) continue;
    DiagramBox box;
    box.id = "node:" + node.name;
    box.title = node.name;
    const std::string call = call_text(pipeline_, node);
    if (call != node.name) box.subtitle = call;
    box.knobs = knob_texts(node);
    box.tag = schedule_text(pipeline_, node);
    box.cluster = cluster_of(group_of_node(i));
    box.layer = layers_.nodes[i];
    nodes_.back() = add_box(std::move(box), node.span);
  }
}

void Drawing::add_data_edges(std::size_t node) {
  for (const NodeInput& input : pipeline_.nodes[node].inputs) {
    const bool previous = input.from == NodeInput::From::previous_step;
    if (!previous && input.from != NodeInput::From::edge) continue;
    if (!input.node.valid() || input.node.index() >= pipeline_.nodes.size()) continue;
    const auto& outputs = pipeline_.node(input.node).outputs;
    std::string label = "?";
    const auto port = static_cast<std::size_t>(input.port);
    if (port < outputs.size() && outputs[port].known) label = to_text(pipeline_.type_of(outputs[port]));
    if (!input.metric.empty()) label = input.metric;
    connect(at(nodes_, input.node), nodes_[node], previous ? EdgeStyle::previous : EdgeStyle::data,
            previous ? "prev " + label : label);
  }
}

void Drawing::add_weight_edges(std::size_t index) {
  const FlowNode& node = pipeline_.nodes[index];
  const BoxIndex box = nodes_[index];
  if (node.replica.valid()) {
    connect(at(replicas_, node.replica), box, EdgeStyle::weights_read, "");
  } else if (is_update(node)) {
    connect(box, at(models_, node.model), EdgeStyle::weights_written, "v(k)");
  } else {
    connect(at(models_, node.model), box, EdgeStyle::weights_read, "");
  }
  for (ModelId model : node.models) {
    if (model != node.model) connect(at(models_, model), box, EdgeStyle::weights_read, "");
  }
}

void Drawing::add_syncs() {
  for (const Sync& sync : pipeline_.syncs) {
    connect(at(models_, sync.model), at(replicas_, sync.replica), EdgeStyle::sync, sync_text(sync));
  }
}

}  // namespace

Diagram pipeline_diagram(const Pipeline& pipeline, const PlacedPipeline& placed,
                         const std::vector<DiagramError>& errors) {
  return Drawing(pipeline, placed, errors).draw();
}

}  // namespace rlflow
