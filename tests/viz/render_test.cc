// Does DOT become the same picture every time, and is a failure said in words?
#include "viz/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/viz/programs.h"
#include "viz/dot.h"
#include "viz/svg_text.h"

namespace rlflow::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kTwoBoxes = R"(digraph d { a [label="first"]; b [label="second"]; a -> b [label="data"] })";

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Render, SvgShowsEveryBoxAndEdgeAndIsTheSameTwice) {
  const Picture first = render(kTwoBoxes, PictureFormat::svg);
  ASSERT_EQ(first.error, "");
  EXPECT_EQ(occurrences(first.bytes, "class=\"node\""), 2u);
  EXPECT_EQ(occurrences(first.bytes, "class=\"edge\""), 1u);
  EXPECT_THAT(first.bytes, HasSubstr(">data</text>"));
  EXPECT_EQ(first.bytes, render(kTwoBoxes, PictureFormat::svg).bytes);
}

// The plugin that draws PNG measures text with the installed fonts; an SVG afterwards must not change by it.
TEST(Render, AnSvgDoesNotDependOnAPngBefore) {
  const std::string before = render(kTwoBoxes, PictureFormat::svg).bytes;
  const Picture png = render(kTwoBoxes, PictureFormat::png);
  if (png.error.empty()) {
    EXPECT_THAT(png.bytes, StartsWith("\x89PNG\r\n"));
  } else {
    EXPECT_THAT(png.error, HasSubstr(".svg"));  // says what to do instead
  }
  EXPECT_EQ(before, render(kTwoBoxes, PictureFormat::svg).bytes);
}

// The five programs' pictures; one of them made Graphviz free memory twice (see Dot.LabelsOfEdgesInsideARank…).
TEST(Render, TheProgramsAreDrawn) {
  for (const char* program : {"pipelines/tiny_grpo.rlflow", "pipelines/tiny_sft.rlflow", "pipelines/ppo.rlflow",
                              "pipelines/grpo_async.rlflow"}) {
    CompileRequest request;
    request.path = std::string(RLFLOW_SOURCE_DIR) + "/" + program;
    const Diagram diagram = diagram_of(request);
    const Picture picture = render(to_dot(diagram), PictureFormat::svg);
    EXPECT_EQ(picture.error, "") << program;
    EXPECT_EQ(occurrences(picture.bytes, "class=\"node\""), diagram.boxes.size()) << program;
    EXPECT_EQ(occurrences(picture.bytes, "class=\"cluster\""), diagram.clusters.size()) << program;
  }
}

// With the wider font that stands in for Helvetica on many systems, lines began in the middle and left their boxes.
TEST(Render, LinesAreAnchoredAtTheMiddleOfTheirBox) {
  const std::string svg =
      "<g id=\"node1\" class=\"node\">\n"
      "<path fill=\"#fff\" d=\"M40,-8C40,-8 20,-8 20,-8 20,-30 60,-30 60,-8\"/>\n"
      "<text text-anchor=\"start\" x=\"23.5\" y=\"-14\">traj</text>\n"
      "</g>\n"
      "<g id=\"edge1\" class=\"edge\">\n"
      "<text text-anchor=\"start\" x=\"5\" y=\"6\">v(k)</text>\n"
      "</g>\n";
  std::string expected = svg;  // x from 20 to 60; the edge's text stays
  const std::string line = "text-anchor=\"start\" x=\"23.5\"";
  expected.replace(expected.find(line), line.size(), "text-anchor=\"middle\" x=\"40.00\"");
  EXPECT_EQ(center_box_texts(svg), expected);
}

TEST(Render, TextThatIsNoDrawingIsRefused) {
  const Picture picture = render("digraph { a -> ", PictureFormat::svg);
  EXPECT_EQ(picture.bytes, "");
  EXPECT_THAT(picture.error, StartsWith("Graphviz cannot read the drawing"));
}

Diagram random_diagram(std::mt19937& random) {
  auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Diagram diagram;
  diagram.title = "random";
  const std::size_t clusters = below(4);
  for (std::size_t c = 0; c < clusters; ++c) diagram.clusters.push_back({"g" + std::to_string(c), "cpu"});
  const std::size_t boxes = 1 + below(14);
  for (std::size_t b = 0; b < boxes; ++b) {
    DiagramBox box;
    box.id = "b" + std::to_string(b);
    box.shape = static_cast<BoxShape>(below(3));
    box.title = box.id;
    box.knobs.assign(below(4), "knob = 1");
    box.layer = static_cast<std::int32_t>(below(6));
    if (clusters > 0 && below(3) > 0) box.cluster = below(clusters);
    diagram.boxes.push_back(box);
  }
  const std::size_t edges = below(3 * boxes);
  for (std::size_t e = 0; e < edges; ++e) {
    DiagramEdge edge{below(boxes), below(boxes), static_cast<EdgeStyle>(below(5)), below(2) == 0 ? "" : "label"};
    // Data flows down, as it does in every pipeline.
    if (edge.style == EdgeStyle::data && diagram.boxes[edge.from].layer >= diagram.boxes[edge.to].layer) continue;
    diagram.edges.push_back(edge);
  }
  return diagram;
}

TEST(Render, NoDiagramBreaksGraphviz) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const Diagram diagram = random_diagram(random);
    const Picture picture = render(to_dot(diagram), PictureFormat::svg);
    ASSERT_EQ(picture.error, "") << "diagram " << i << "\n" << to_dot(diagram);
    ASSERT_EQ(occurrences(picture.bytes, "class=\"node\""), diagram.boxes.size()) << "diagram " << i;
  }
}

}  // namespace
}  // namespace rlflow::testing
