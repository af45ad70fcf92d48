// Programs as text, and the pictures that come of them.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "nodes/signatures/catalog.h"
#include "viz/pipeline_diagram.h"

namespace rlflow::testing {

inline Diagram diagram_of(const CompileRequest& request) {
  const Catalog known = catalog();
  const Analysis analysis = analyze(request, known);
  std::vector<DiagramError> errors;
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    if (diagnostic.level == Level::error) errors.push_back({diagnostic.primary, "line", diagnostic.message});
  }
  return pipeline_diagram(analysis.pipeline, analysis.placed, errors);
}

inline Diagram diagram_of_text(const std::string& text, const std::vector<std::string>& overrides = {}) {
  CompileRequest request;
  request.path = "program.rlflow";
  request.texts[request.path] = text;
  request.only_texts = true;
  request.overrides = overrides;
  return diagram_of(request);
}

inline const DiagramBox* box_named(const Diagram& diagram, const std::string& title) {
  for (const DiagramBox& box : diagram.boxes) {
    if (box.title == title) return &box;
  }
  return nullptr;
}

// "traj -> r [traj[B, T]]", in the diagram's order.
inline std::vector<std::string> edges_of(const Diagram& diagram, EdgeStyle style) {
  std::vector<std::string> texts;
  for (const DiagramEdge& edge : diagram.edges) {
    if (edge.style != style) continue;
    texts.push_back(diagram.boxes[edge.from].title + " -> " + diagram.boxes[edge.to].title +
                    (edge.label.empty() ? "" : " [" + edge.label + "]"));
  }
  return texts;
}

}  // namespace rlflow::testing
