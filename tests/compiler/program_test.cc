// Do true programs compile, into the plans that they mean?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/dump.h"
#include "tests/compiler/support.h"

namespace rlflow::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Compilation compile_text(const std::string& text, std::vector<std::string> overrides = {}) {
  CompileRequest request = request_for(text, project_root("programs"));
  request.overrides = std::move(overrides);
  static const Catalog kKnown = catalog();  // the analysis borrows it
  return compile(request, kKnown);
}

std::string tiny_grpo() { return read_file(fs::path(RLFLOW_SOURCE_DIR) / "pipelines/tiny_grpo.rlflow"); }

Digest meaning_of_text(const std::string& text, std::vector<std::string> overrides = {}) {
  Compilation result = compile_text(text, std::move(overrides));
  EXPECT_TRUE(result.plan.has_value()) << render_all(result.analysis.diagnostics, result.analysis.sources);
  return result.plan ? result.plan->meaning : Digest();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Programs, EveryProgramOfTheReferenceChecksWithoutErrors) {
  const Catalog known = catalog();
  for (const fs::path& path : all_programs()) {
    CompileRequest request;
    request.path = path.string();
    request.root = (fs::path(RLFLOW_SOURCE_DIR)).string();
    Compilation result = compile(request, known);
    EXPECT_TRUE(result.analysis.ok()) << path << "\n"
                                      << render_all(result.analysis.diagnostics, result.analysis.sources);
    EXPECT_EQ(result.plan.has_value(), !result.analysis.pipeline.flow.empty()) << path;
  }
}

TEST(Programs, TinyGrpoLowersToThisPlan) {
  Compilation result = compile_text(tiny_grpo());
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_EQ(dump(*result.plan), read_file(test_folder() / "tiny_grpo.plan"));
}

TEST(Programs, WhatWhenTakesAwayIsNotInThePlan) {
  Compilation off = compile_text(tiny_grpo());
  ASSERT_TRUE(off.plan);
  EXPECT_EQ(off.plan->models.size(), 1u);         // ref is not loaded
  EXPECT_TRUE(off.analysis.diagnostics.empty());  // and not called unused
  Compilation on = compile_text(tiny_grpo(), {"kl=0.1"});
  ASSERT_TRUE(on.plan);
  EXPECT_EQ(on.plan->models.size(), 2u);
  EXPECT_EQ(on.plan->nodes[4].name, "refl");
  EXPECT_EQ(on.plan->nodes[5].inputs[4].node, NodeId(4));
  EXPECT_EQ(on.plan->overrides, std::vector<std::string>{"kl=0.1"});
}

TEST(Programs, EdgesGoForward) {
  Compilation result = compile_text(tiny_grpo(), {"kl=0.1"});
  ASSERT_TRUE(result.plan);
  for (std::size_t n = 0; n < result.plan->nodes.size(); ++n) {
    for (const PlanInput& input : result.plan->nodes[n].inputs) {
      if (input.node.valid() && !input.previous_step) {
        EXPECT_LT(input.node.index(), n);
      }
    }
  }
}

TEST(Programs, OverridesReachTheirPlaces) {
  Compilation result =
      compile_text(tiny_grpo(), {"traj.temperature=0.8", "traj.n=16", "policy.optim.lr=2e-6", "stop=500",
                                 "checkpoint.keep=5", "batch.count=16", "train.seed=9", "here.threads=1"});
  ASSERT_TRUE(result.plan) << render_all(result.analysis.diagnostics, result.analysis.sources);
  const Plan& plan = *result.plan;
  EXPECT_EQ(real_at(plan.nodes[1].settings, "temperature"), 0.8);
  EXPECT_EQ(int_at(plan.nodes[1].constants, "n"), 16);
  EXPECT_EQ(*plan.models[0].optim->named.at("lr").get<double>(), 2e-6);
  EXPECT_EQ(plan.stop_after, 500);
  EXPECT_EQ(int_at(plan.nodes.back().settings, "keep"), 5);
  EXPECT_EQ(int_at(plan.nodes[0].constants, "count"), 16);
  EXPECT_EQ(int_at(plan.data[0].settings, "seed"), 9);
  EXPECT_EQ(plan.groups[0].threads, 1);
  // steps is not read any more, and still not "unused"
  EXPECT_TRUE(result.analysis.diagnostics.empty());
}

TEST(Programs, GroupsCanBeMovedToOtherDevices) {
  Compilation result = compile_text(tiny_grpo(), {"here=gpu[2..3]"});
  ASSERT_TRUE(result.plan);
  EXPECT_EQ(result.plan->groups[0].device, DeviceKind::gpu);
  EXPECT_EQ(result.plan->groups[0].first, 2);
  EXPECT_EQ(result.plan->groups[0].last, 3);
}

TEST(Programs, MeaningIgnoresFormAndSeesSubstance) {
  const std::string text = tiny_grpo();
  const Digest meaning = meaning_of_text(text);
  EXPECT_EQ(meaning, meaning_of_text(replaced(text, "# GRPO on sums", "# Something else\n\n#")));
  EXPECT_EQ(meaning,
            meaning_of_text(text, {"stop=7", "r.retry=0", "r.timeout=9s", "checkpoint.keep=9", "r.workers=4"}));
  EXPECT_EQ(meaning, meaning_of_text(replaced(text, ", max_new = 34 }\n  r", ", top_p = 1.0, max_new = 34 }\n  r")));
  EXPECT_NE(meaning, meaning_of_text(text, {"traj.n=16"}));
  EXPECT_NE(meaning, meaning_of_text(text, {"policy.optim.lr=1e-5"}));
  EXPECT_NE(meaning, meaning_of_text(text, {"kl=0.1"}));
  EXPECT_NE(meaning, meaning_of_text(text, {"train.seed=2"}));
  EXPECT_NE(meaning, meaning_of_text(text, {"here.threads=1"}));
  EXPECT_EQ(meaning_of_text(text, {"here=gpu[0..1]"}), meaning_of_text(text, {"here=gpu[5..6]"}));
}

TEST(Programs, AnImportedProgramCompilesFromItsRecordedSources) {
  CompileRequest request;
  request.path = (test_folder() / "programs/one_step_off.rlflow").string();
  request.root = std::string(RLFLOW_SOURCE_DIR);
  Compilation first = compile(request, catalog());
  ASSERT_TRUE(first.plan);
  ASSERT_EQ(first.plan->sources.size(), 2u);
  CompileRequest again;
  again.path = first.plan->sources[0].path;
  for (const PlanSource& source : first.plan->sources) again.texts[source.path] = source.text;
  again.only_texts = true;
  again.root = first.plan->root;
  Compilation second = compile(again, catalog());
  ASSERT_TRUE(second.plan);
  EXPECT_EQ(second.plan->meaning, first.plan->meaning);
  EXPECT_EQ(dump(*second.plan), dump(*first.plan));
}

TEST(Programs, ReplicasShareWeightsOnlyInOnePlaceAndWithoutStaleness) {
  EXPECT_TRUE(compile_text(tiny_grpo()).plan->replicas[0].in_place);
  std::string moved =
      replaced(tiny_grpo(), "replica sampler = policy on here", "group there = cpu\nreplica sampler = policy on there");
  EXPECT_FALSE(compile_text(moved).plan->replicas[0].in_place);
}

TEST(Programs, NodesWithoutOutputsHaveNamesOfTheirOwn) {
  std::string two = replaced(tiny_grpo(), "  stop after", "  every 7 steps { checkpoint(policy) }\n  stop after");
  Compilation result = compile_text(two);
  ASSERT_TRUE(result.plan);
  EXPECT_EQ(result.plan->nodes[6].name, "checkpoint(policy)");
  EXPECT_EQ(result.plan->nodes[7].name, "checkpoint(policy).2");
}

TEST(Programs, BrokenProgramsStillGiveTheirPipeline) {
  Compilation result = compile_text(replaced(tiny_grpo(), "advantage(r)", "advantage(rr)"));
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_EQ(codes_of(result.analysis), std::vector<std::string>{"E0201"});
  EXPECT_EQ(result.analysis.pipeline.nodes.size(), 8u);
  EXPECT_EQ(result.analysis.placed.node_groups.size(), 8u);
  EXPECT_THAT(dump(result.analysis.pipeline), HasSubstr("node adv = advantage/responses(?) -> adv[?]"));
}

TEST(Programs, LintsCanBeAllowedAndDenied) {
  std::string text = replaced(tiny_grpo(), "group here", "param spare : int = 1\ngroup here");
  CompileRequest request = request_for(text, project_root("programs"));
  EXPECT_TRUE(analyze(request, catalog()).ok());
  request.lints = {{"unused-param", LintLevel::deny}};
  EXPECT_FALSE(analyze(request, catalog()).ok());
  request.lints = {{"unused-param", LintLevel::allow}};
  EXPECT_THAT(codes_of(analyze(request, catalog())), ElementsAre());
}

}  // namespace
}  // namespace rlflow::testing
