// How is a diagram written in Graphviz's language, laid out so that a person can read it?
// What makes the layout readable: data edges alone decide the ranks (`constraint=false` on weight edges), each
// layer of the flow is one rank across clusters (`newrank=true`, `rank=same`), a model is named right after the node
// beside which it stands, and an invisible edge keeps a replica in one column with its model, so that the `sync`
// edge and the edges to evaluations run straight.
#include "viz/dot.h"

#include <algorithm>
#include <map>
#include <set>

namespace rlflow {
namespace {

// Points.
constexpr int kTitleSize = 13;
constexpr int kSubtitleSize = 11;
constexpr int kKnobSize = 10;
constexpr int kPointsPerInch = 72;

// For attributes in double quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) continue;
    out += c;
  }
  return out + "\"";
}

// For Graphviz's HTML-like labels.
std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
  }
  return out;
}

std::string font(const std::string& text, int points, const char* colour) {
  return "<font point-size=\"" + std::to_string(points) + "\" color=\"" + colour + "\">" + escaped(text) + "</font>";
}

// An error is told by a sign, not by its colour alone.
std::string shown_title(const DiagramBox& box) { return (box.broken ? "✗ " : "") + box.title; }

std::string box_label(const DiagramBox& box, const Palette& palette) {
  std::string label = "<<b>" + escaped(shown_title(box)) + "</b>";
  if (!box.subtitle.empty()) label += "<br/>" + font(box.subtitle, kSubtitleSize, palette.text);
  for (const std::string& knob : box.knobs) label += "<br/>" + font(knob, kKnobSize, palette.muted_text);
  if (!box.tag.empty()) label += "<br/>" + font(box.tag, kKnobSize, palette.tag);
  return label + ">";
}

std::size_t code_points(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// In hundredths of an inch: room for the longest line in a font as wide as DejaVu Sans, which many systems show in
// place of Helvetica. Graphviz alone would reserve what Arial needs, and for bold text no more.
std::size_t box_width(const DiagramBox& box) {
  constexpr std::size_t kBold = 60;  // hundredths of the font size that a letter takes
  constexpr std::size_t kRegular = 54;
  std::size_t widest = code_points(shown_title(box)) * kTitleSize * kBold;
  widest = std::max(widest, code_points(box.subtitle) * kSubtitleSize * kRegular);
  for (const std::string& knob : box.knobs) widest = std::max(widest, code_points(knob) * kKnobSize * kRegular);
  widest = std::max(widest, code_points(box.tag) * kKnobSize * kRegular);
  return widest / kPointsPerInch + 32;
}

std::string inches(std::size_t hundredths) {
  const std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (rest.size() < 2 ? "0" : "") + rest;
}

bool writes_weights(const Diagram& diagram, std::size_t box) {
  return std::any_of(diagram.edges.begin(), diagram.edges.end(), [&](const DiagramEdge& edge) {
    return edge.from == box && edge.style == EdgeStyle::weights_written;
  });
}

std::string box_attributes(const Diagram& diagram, std::size_t index, const Palette& palette) {
  const DiagramBox& box = diagram.boxes[index];
  const bool is_node = box.shape == BoxShape::node;
  const char* line = is_node ? palette.node_line : palette.model_line;
  if (writes_weights(diagram, index)) line = palette.writer;
  if (box.broken) line = palette.broken;
  std::string style = is_node ? "rounded,filled" : "filled";
  if (box.shape == BoxShape::replica) style += ",dashed";
  std::string out = "label=" + box_label(box, palette);
  out += ", width=" + inches(box_width(box)) + ", shape=" + std::string(is_node ? "box" : "cylinder");
  out += ", style=\"" + style + "\"";
  out += ", fillcolor=\"" + std::string(is_node ? palette.node_fill : palette.model_fill) + "\"";
  out += ", color=\"" + std::string(line) + "\"";
  if (box.broken || writes_weights(diagram, index)) out += ", penwidth=1.8";
  return out;
}

// Room on both sides, more for longer labels: the reader's font may be wider than the one assumed.
std::string padded(const std::string& label) {
  const std::string space(2 + code_points(label) / 7, ' ');
  return space + label + space;
}

// A labelled edge between neighbours of one rank makes Graphviz 2.42 free memory twice (with newrank), so such a
// label is placed after the layout.
const char* label_attribute(const Diagram& diagram, const DiagramEdge& edge) {
  const bool flat = edge.from != edge.to && diagram.boxes[edge.from].layer == diagram.boxes[edge.to].layer;
  return flat ? "xlabel=" : "label=";
}

std::string edge_attributes(const Diagram& diagram, const DiagramEdge& edge, const Palette& palette) {
  std::string colour, rest;
  switch (edge.style) {
    case EdgeStyle::data:
      colour = palette.data_edge;
      rest = ", weight=4";
      break;
    case EdgeStyle::weights_read:
      colour = palette.weights_edge;
      rest = ", arrowhead=empty, constraint=false";
      break;
    case EdgeStyle::weights_written:
      colour = palette.writer;
      rest = ", penwidth=1.6, constraint=false";
      break;
    case EdgeStyle::sync:
      colour = palette.sync;
      rest = ", dir=back, style=dashed, penwidth=1.4, constraint=false";
      break;
    case EdgeStyle::previous:
      colour = palette.data_edge;
      rest = ", style=dotted, penwidth=1.4, constraint=false";
      break;
  }
  std::string out = "color=\"" + colour + "\"" + rest;
  if (!edge.label.empty()) {
    const bool plain = edge.style == EdgeStyle::data || edge.style == EdgeStyle::previous;
    out += ", " + std::string(label_attribute(diagram, edge)) + quoted(padded(edge.label));
    out += ", fontcolor=\"" + std::string(plain ? palette.muted_text : colour.c_str()) + "\"";
  }
  return out;
}

bool joined_by_weights(const Diagram& diagram, std::size_t a, std::size_t b) {
  return std::any_of(diagram.edges.begin(), diagram.edges.end(), [&](const DiagramEdge& edge) {
    const bool weights = edge.style == EdgeStyle::weights_read || edge.style == EdgeStyle::weights_written;
    return weights && ((edge.from == a && edge.to == b) || (edge.from == b && edge.to == a));
  });
}

// Nodes in their order, each followed by the models that stand beside it; then the models beside no node.
std::vector<std::size_t> drawing_order(const Diagram& diagram) {
  const std::vector<DiagramBox>& boxes = diagram.boxes;
  std::vector<std::size_t> order;
  std::set<std::size_t> placed;
  auto place = [&](std::size_t box) {
    if (placed.insert(box).second) order.push_back(box);
  };
  for (std::size_t node = 0; node < boxes.size(); ++node) {
    if (boxes[node].shape != BoxShape::node) continue;
    place(node);
    for (std::size_t model = 0; model < boxes.size(); ++model) {
      const bool beside = boxes[model].shape != BoxShape::node && boxes[model].layer == boxes[node].layer;
      if (beside && joined_by_weights(diagram, node, model)) place(model);
    }
  }
  for (std::size_t model = 0; model < boxes.size(); ++model) place(model);
  return order;
}

std::string node_lines(const Diagram& diagram, std::optional<std::size_t> cluster, const Palette& palette,
                       const std::string& indent) {
  std::string out;
  for (std::size_t i : drawing_order(diagram)) {
    if (diagram.boxes[i].cluster != cluster) continue;
    out += indent + quoted(diagram.boxes[i].id) + " [" + box_attributes(diagram, i, palette) + "]\n";
  }
  return out;
}

// Spaces that keep a bold title and what follows it apart where the reader's font is wider than the one assumed.
std::string gap_behind(const std::string& title) {
  std::string gap;
  for (std::size_t i = 0; i < 3 + code_points(title) / 3; ++i) gap += "&#160;";
  return gap;
}

std::string cluster_lines(const Diagram& diagram, const Palette& palette) {
  std::string out;
  for (std::size_t c = 0; c < diagram.clusters.size(); ++c) {
    const DiagramCluster& cluster = diagram.clusters[c];
    out += "  subgraph " + quoted("cluster_" + std::to_string(c)) + " {\n";
    out += "    graph [label=<<b>" + escaped(cluster.title) + "</b>" + gap_behind(cluster.title) +
           font(cluster.detail, kSubtitleSize, palette.muted_text) + ">, ";
    out += "labeljust=l, labelloc=b, style=\"rounded,filled\", fillcolor=\"" + std::string(palette.cluster_fill) +
           "\", color=\"" + palette.cluster_line + "\", margin=14]\n";
    out += node_lines(diagram, c, palette, "    ") + "  }\n";
  }
  return out;
}

// A sync is written from the replica, which stands above its model, with the arrow at its tail: Graphviz routes
// edges that go down better than those that go up.
std::string edge_lines(const Diagram& diagram, const Palette& palette) {
  std::string out;
  for (const DiagramEdge& edge : diagram.edges) {
    const bool reversed = edge.style == EdgeStyle::sync;
    const std::string from = quoted(diagram.boxes[reversed ? edge.to : edge.from].id);
    const std::string to = quoted(diagram.boxes[reversed ? edge.from : edge.to].id);
    out += "  " + from + " -> " + to + " [" + edge_attributes(diagram, edge, palette) + "]\n";
    const bool goes_up = diagram.boxes[edge.from].layer > diagram.boxes[edge.to].layer;
    if (reversed && goes_up) out += "  " + from + " -> " + to + " [style=invis, weight=6]\n";
  }
  return out;
}

std::map<std::int32_t, std::vector<std::size_t>> layers_of(const Diagram& diagram) {
  std::map<std::int32_t, std::vector<std::size_t>> layers;
  for (std::size_t i = 0; i < diagram.boxes.size(); ++i) layers[diagram.boxes[i].layer].push_back(i);
  return layers;
}

// One rank a layer; where no data edge holds two neighbouring layers apart, an invisible one does.
std::string rank_lines(const Diagram& diagram) {
  const auto layers = layers_of(diagram);
  std::set<std::pair<std::int32_t, std::int32_t>> joined;
  for (const DiagramEdge& edge : diagram.edges) {
    if (edge.style != EdgeStyle::data) continue;
    joined.emplace(diagram.boxes[edge.from].layer, diagram.boxes[edge.to].layer);
  }
  std::string out;
  const std::pair<const std::int32_t, std::vector<std::size_t>>* above = nullptr;
  for (const auto& layer : layers) {
    out += "  { rank=same;";
    for (std::size_t box : layer.second) out += " " + quoted(diagram.boxes[box].id) + ";";
    out += " }\n";
    if (above != nullptr && !joined.contains({above->first, layer.first})) {
      out += "  " + quoted(diagram.boxes[above->second.front()].id) + " -> " +
             quoted(diagram.boxes[layer.second.front()].id) + " [style=invis]\n";
    }
    above = &layer;
  }
  return out;
}

}  // namespace

std::string to_dot(const Diagram& diagram, const Palette& palette) {
  const std::string face = "fontname=\"Helvetica,Arial,sans-serif\"";
  std::string out = "digraph " + quoted(diagram.title) + " {\n";
  out += "  graph [newrank=true, mclimit=8, rankdir=TB, nodesep=0.45, ranksep=0.5, pad=0.2, bgcolor=\"" +
         std::string(palette.background) + "\", fontcolor=\"" + palette.text + "\", fontsize=13, " + face + "]\n";
  out += "  node [fontsize=13, fontcolor=\"" + std::string(palette.text) + "\", margin=\"0.16,0.08\", " + face + "]\n";
  out += "  edge [fontsize=10, arrowsize=0.8, " + face + "]\n";
  out += cluster_lines(diagram, palette);
  out += node_lines(diagram, std::nullopt, palette, "  ");
  out += edge_lines(diagram, palette);
  return out + rank_lines(diagram) + "}\n";
}

}  // namespace rlflow
