// Is a diagram written in Graphviz's language with the rules that make it readable?
#include "viz/dot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/support/process.h"
#include "tests/viz/programs.h"

namespace rlflow::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A rollout that feeds an update, which writes the model of the rollout's replica.
Diagram small_loop() {
  Diagram diagram;
  diagram.title = "loop";
  diagram.clusters = {{"here", "cpu, 2 threads"}};
  diagram.boxes.resize(4);
  diagram.boxes[0] = {"n0", BoxShape::node, "traj", "rollout", {}, "", 0, 0, false};
  diagram.boxes[1] = {"n1", BoxShape::node, "step", "update", {}, "", 0, 1, false};
  diagram.boxes[2] = {"m", BoxShape::model, "policy", "", {}, "", 0, 1, false};
  diagram.boxes[3] = {"s", BoxShape::replica, "sampler", "", {}, "", 0, 0, false};
  diagram.edges = {{0, 1, EdgeStyle::data, "traj[B, T]"},
                   {3, 0, EdgeStyle::weights_read, ""},
                   {1, 2, EdgeStyle::weights_written, "v(k)"},
                   {2, 3, EdgeStyle::sync, "every 1 step, lag 0"}};
  return diagram;
}

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "(no line with " + part + ")";
}

TEST(Dot, OnlyDataEdgesDecideTheRanks) {
  const std::string dot = to_dot(small_loop());
  EXPECT_THAT(dot, HasSubstr("newrank=true"));
  EXPECT_THAT(line_with(dot, R"("n0" -> "n1")"), Not(HasSubstr("constraint=false")));
  for (const char* weights : {R"("s" -> "n0")", R"("n1" -> "m")", R"("s" -> "m")"}) {
    EXPECT_THAT(line_with(dot, weights), HasSubstr("constraint=false")) << weights;
  }
}

TEST(Dot, EachKindOfEdgeHasItsLook) {
  const std::string dot = to_dot(small_loop());
  EXPECT_THAT(line_with(dot, R"("s" -> "n0")"), HasSubstr("arrowhead=empty"));
  EXPECT_THAT(line_with(dot, R"("n1" -> "m")"), HasSubstr(kLightPalette.writer));
  const std::string sync = line_with(dot, R"("s" -> "m")");  // drawn from the replica, the arrow at its tail
  EXPECT_THAT(sync, HasSubstr("style=dashed"));
  EXPECT_THAT(sync, HasSubstr("dir=back"));
  EXPECT_THAT(sync, HasSubstr(kLightPalette.sync));
}

TEST(Dot, ALayerIsOneRank) {
  const std::string dot = to_dot(small_loop());
  EXPECT_THAT(dot, HasSubstr(R"({ rank=same; "n0"; "s"; })"));
  EXPECT_THAT(dot, HasSubstr(R"({ rank=same; "n1"; "m"; })"));
}

// Graphviz 2.42 freed memory twice for a labelled edge inside a rank.
TEST(Dot, LabelsOfEdgesInsideARankAreLeftToTheEnd) {
  EXPECT_THAT(line_with(to_dot(small_loop()), R"("n1" -> "m")"), HasSubstr("xlabel="));
}

TEST(Dot, NamesCannotBreakOutOfTheirQuotes) {
  Diagram diagram;
  diagram.title = "a\"b\\";
  diagram.boxes = {{"x\"y", BoxShape::node, "<b>&\"</b>", "", {}, "", {}, 0, false}};
  const std::string dot = to_dot(diagram);
  EXPECT_THAT(dot, HasSubstr(R"(digraph "a\"b\\" {)"));
  EXPECT_THAT(dot, HasSubstr(R"("x\"y")"));
  EXPECT_THAT(dot, HasSubstr("&lt;b&gt;&amp;&quot;&lt;/b&gt;"));
}

// Reviewed pictures as text. RLFLOW_UPDATE_GOLDEN=1 in the environment writes them anew.
class Golden : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Golden, ThePictureIsTheReviewedOne) {
  CompileRequest request;
  request.path = std::string(RLFLOW_SOURCE_DIR) + "/" + GetParam().second;
  const std::string dot = to_dot(diagram_of(request));
  const std::string file = std::string(RLFLOW_SOURCE_DIR) + "/tests/viz/golden/" + GetParam().first + ".dot";
  if (std::getenv("RLFLOW_UPDATE_GOLDEN") != nullptr) write_file(file, dot);
  EXPECT_EQ(dot, read_file(file));
}

INSTANTIATE_TEST_SUITE_P(Programs, Golden,
                         ::testing::Values(std::pair("tiny_grpo", "pipelines/tiny_grpo.rlflow"),
                                           std::pair("tiny_sft", "pipelines/tiny_sft.rlflow"),
                                           std::pair("ppo", "pipelines/ppo.rlflow"),
                                           std::pair("grpo_async", "pipelines/grpo_async.rlflow")));

}  // namespace
}  // namespace rlflow::testing
