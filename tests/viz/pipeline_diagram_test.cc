// Does the picture of a program show its nodes, models and groups, and what flows between them?
#include "viz/pipeline_diagram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/viz/programs.h"
#include "viz/dot.h"

namespace rlflow::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kGrpo = R"(rlflow 1
param kl : float = 0.0 in 0..1
group   here    = cpu { threads = 2 }
model   policy  = load("models/tiny") on here { trainable, dtype = f32, optim = adamw(lr=1.5e-4, clip=1.0) }
model   ref     = load("models/tiny") on here { dtype = f32 }
replica sampler = policy on here
data    train   = builtin("addition") { digits = 2..3, seed = 1 }
data    test    = builtin("addition") { digits = 2..3, seed = 2, split = test, size = 256 }
reward  exact   = builtin("exact_answer")
flow grpo {
  batch = take(train, 32)
  traj  = rollout(sampler, batch, n=8) { temperature = 1.0, max_new = 34 }
  r     = score(exact, traj) { retry = 2 }
  adv   = advantage(r) { estimator = grpo }
  refl  = logprob(ref, traj) when kl > 0
  step  = update(policy, traj, adv, ref=refl) { loss = ppo, clip = 0.2, kl = kl }
  sync policy -> sampler every 1 step lag 0
  every 10 steps and at start { acc = evaluate(sampler, test, exact) { max_new = 34 } }
  every 25 steps { checkpoint(policy) }
  stop after 100
}
)";

TEST(PipelineDiagram, EdgesCarryKindAndShape) {
  const Diagram diagram = diagram_of_text(kGrpo);
  EXPECT_EQ(diagram.title, "grpo");
  EXPECT_THAT(edges_of(diagram, EdgeStyle::data),
              ElementsAre("batch -> traj [prompts[P]]", "traj -> r [traj[B, T]]", "r -> adv [reward[B]]",
                          "traj -> step [traj[B, T]]", "adv -> step [adv[B]]"));
}

// Found by looking at the picture: it said "prev metrics", whichever number was read.
TEST(PipelineDiagram, AnEdgeOfOneMetricCarriesItsName) {
  std::string text = kGrpo;
  text.insert(text.find("  sync policy"),
              "  coef = adapt_kl(step.loss, prev(step.entropy, init=0.5)) { target = 0.1, horizon = 10 }\n");
  const Diagram diagram = diagram_of_text(text);
  EXPECT_THAT(edges_of(diagram, EdgeStyle::previous), ElementsAre("step -> coef [prev entropy]"));
  EXPECT_THAT(edges_of(diagram, EdgeStyle::data), ::testing::Contains("step -> coef [loss]"));
}

TEST(PipelineDiagram, WeightsAreReadWrittenAndSynced) {
  const Diagram diagram = diagram_of_text(kGrpo, {"kl=0.02"});
  EXPECT_THAT(edges_of(diagram, EdgeStyle::weights_read),
              ElementsAre("sampler -> traj", "ref -> refl", "sampler -> acc", "policy -> checkpoint(policy)"));
  EXPECT_THAT(edges_of(diagram, EdgeStyle::weights_written), ElementsAre("step -> policy [v(k)]"));
  EXPECT_THAT(edges_of(diagram, EdgeStyle::sync), ElementsAre("policy -> sampler [every 1 step, lag 0]"));
}

// The reference is not loaded when `when` removes its only reader, so it is not drawn either.
TEST(PipelineDiagram, WhatWhenRemovesIsNotDrawn) {
  const Diagram without = diagram_of_text(kGrpo);
  EXPECT_EQ(box_named(without, "refl"), nullptr);
  EXPECT_EQ(box_named(without, "ref"), nullptr);
  EXPECT_NE(box_named(diagram_of_text(kGrpo, {"kl=0.02"}), "ref"), nullptr);
}

TEST(PipelineDiagram, BoxesSayWhatTheProgramSets) {
  const Diagram diagram = diagram_of_text(kGrpo);
  const DiagramBox* traj = box_named(diagram, "traj");
  ASSERT_NE(traj, nullptr);
  EXPECT_EQ(traj->subtitle, "rollout(sampler, n=8)");
  EXPECT_THAT(traj->knobs, ElementsAre("temperature = 1", "max_new = 34"));
  EXPECT_THAT(box_named(diagram, "r")->knobs, IsEmpty());  // retries change nothing of its meaning
  EXPECT_EQ(box_named(diagram, "batch")->subtitle, "take(train, 32)");
  EXPECT_THAT(box_named(diagram, "policy")->knobs, ElementsAre("f32, trained", "adamw, lr = 0.00015"));
  EXPECT_THAT(box_named(diagram, "sampler")->knobs, ElementsAre("f32, in place"));
}

TEST(PipelineDiagram, ModelsAndTheirNodesStandInTheGroupsCluster) {
  const Diagram diagram = diagram_of_text(kGrpo);
  ASSERT_EQ(diagram.clusters.size(), 1u);
  EXPECT_EQ(diagram.clusters[0].title, "here");
  EXPECT_EQ(diagram.clusters[0].detail, "cpu, 2 threads");
  for (const char* inside : {"policy", "sampler", "traj", "step", "acc"})
    EXPECT_TRUE(box_named(diagram, inside)->cluster) << inside;
  for (const char* outside : {"batch", "r", "adv"}) EXPECT_FALSE(box_named(diagram, outside)->cluster) << outside;
}

// batch 0, traj 1, r 2, adv 3, step 4 by the longest path; blocks below the step.
TEST(PipelineDiagram, LayersFollowTheLongestPathAndBlocksStandBelow) {
  const Diagram diagram = diagram_of_text(kGrpo);
  const std::vector<std::pair<const char*, int>> expected = {{"batch", 0},  {"traj", 1}, {"sampler", 1},
                                                             {"r", 2},      {"adv", 3},  {"step", 4},
                                                             {"policy", 4}, {"acc", 5},  {"checkpoint(policy)", 5}};
  for (const auto& [title, layer] : expected) EXPECT_EQ(box_named(diagram, title)->layer, layer) << title;
  EXPECT_EQ(box_named(diagram, "acc")->tag, "every 10 steps, at start");
  EXPECT_EQ(box_named(diagram, "checkpoint(policy)")->tag, "every 25 steps");
}

TEST(PipelineDiagram, PreviousValuesAreDottedEdges) {
  CompileRequest request;
  request.path = std::string(RLFLOW_SOURCE_DIR) + "/pipelines/ppo.rlflow";
  const Diagram diagram = diagram_of(request);
  EXPECT_THAT(edges_of(diagram, EdgeStyle::previous),
              ElementsAre("coef -> coef [prev scalar]", "dense -> coef [prev scalar]"));
}

TEST(PipelineDiagram, ABrokenProgramIsDrawnAsFarAsItIsKnown) {
  std::string text = kGrpo;
  text.replace(text.find("advantage(r)"), 12, "advantge(r)");
  const Diagram diagram = diagram_of_text(text);
  const DiagramBox* broken = box_named(diagram, "adv");
  ASSERT_NE(broken, nullptr);
  EXPECT_TRUE(broken->broken);
  ASSERT_NE(box_named(diagram, "traj"), nullptr);
  EXPECT_FALSE(box_named(diagram, "traj")->broken);
  EXPECT_THAT(edges_of(diagram, EdgeStyle::weights_written), ElementsAre("step -> policy [v(k)]"));
}

// What stands on no box, a broken sync or a line that could not be read, is a box of its own.
TEST(PipelineDiagram, EveryErrorIsMarked) {
  std::string text = kGrpo;
  text.replace(text.find("sync policy"), 11, "sync polcy");
  const Diagram diagram = diagram_of_text(text);
  const DiagramBox* error = box_named(diagram, "line");
  ASSERT_NE(error, nullptr);
  EXPECT_TRUE(error->broken);
  EXPECT_EQ(error->subtitle, "there is no model `polcy`");
  EXPECT_THAT(to_dot(diagram), HasSubstr("✗ line"));
  std::string much = "rlflow 1\n";
  for (int i = 0; i < 12; ++i) much += "mdoel m" + std::to_string(i) + " = load(\"x\") on here\n";
  EXPECT_NE(box_named(diagram_of_text(much), "4 more errors"), nullptr);
}

TEST(PipelineDiagram, NothingIsDrawnOfNothing) {
  for (const char* text : {"", "rlflow 1\n", "rlflow 1\nflow f {\n}\n", "\xff\xfe\x00"}) {
    EXPECT_THAT(diagram_of_text(text).edges, IsEmpty());
  }
}

}  // namespace
}  // namespace rlflow::testing
