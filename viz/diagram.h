// What does a picture of a pipeline show? Boxes, cylinders, clusters and edges, before any layout or colour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rlflow {

enum class BoxShape {
  node,     // a rounded box
  model,    // a cylinder
  replica,  // a cylinder with a dashed outline where it is a copy
};

struct DiagramBox {
  std::string id;  // unique; stable from run to run
  BoxShape shape = BoxShape::node;
  std::string title;                   // "traj"
  std::string subtitle;                // "rollout(sampler, n = 8)"
  std::vector<std::string> knobs;      // one line each: "temperature = 1.0"
  std::string tag;                     // "every 10 steps"; empty: runs each step
  std::optional<std::size_t> cluster;  // index into Diagram::clusters
  std::int32_t layer = 0;              // boxes of one layer stand on one rank, layers in rising order
  bool broken = false;                 // a diagnostic stands on it
};

enum class EdgeStyle {
  data,             // a payload
  weights_read,     // model or replica -> node
  weights_written,  // update -> model: makes v(k)
  sync,             // model -> replica
  previous,         // prev(x): the value of the last step
};

struct DiagramEdge {
  std::size_t from = 0;  // indices into Diagram::boxes
  std::size_t to = 0;
  EdgeStyle style = EdgeStyle::data;
  std::string label;
};

struct DiagramCluster {
  std::string title;   // the group's name
  std::string detail;  // its devices: "cpu, 2 threads"
};

struct Diagram {
  std::string title;
  std::vector<DiagramCluster> clusters;
  std::vector<DiagramBox> boxes;
  std::vector<DiagramEdge> edges;
};

}  // namespace rlflow
