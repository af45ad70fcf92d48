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

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
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

std::string inputs_text(const Plan& plan, const PlanNode& node) {
  std::string text;
  for (const PlanInput& input : node.inputs) {
    if (!input.node.valid()) continue;
    text += (text.empty() ? "" : ", ") + std::string(input.previous_step ? "prev " : "") +
            plan.nodes[input.node.index()].name + "#" + std::to_string(input.port);
  }
  return text;
}

// A round asks for what is missing, goes on in the data where the round before stopped, and reaches the filter.
TEST(Programs, ARefillIsWrittenOutRoundByRound) {
  Compilation result =
      compile_text(read_file(fs::path(RLFLOW_SOURCE_DIR) / "pipelines/dapo.rlflow"), {"traj.refill=2"});
  ASSERT_TRUE(result.plan) << render_all(result.analysis.diagnostics, result.analysis.sources);
  const Plan& plan = *result.plan;
  std::vector<std::string> nodes;
  for (const PlanNode& node : plan.nodes) {
    if (!node.schedule)
      nodes.push_back(node.name + " " + std::to_string(node.round) + " (" + inputs_text(plan, node) + ")");
  }
  EXPECT_THAT(
      nodes, ElementsAre("batch 0 (prev batch.2#1)", "all 0 (batch#0)", "right 0 (all#0)", "traj.missing.1 1 (right#0)",
                         "batch.1 1 (batch#1, traj.missing.1#0)", "all.1 1 (batch.1#0)", "right.1 1 (all.1#0)",
                         "traj.missing.2 2 (right#0, right.1#0)", "batch.2 2 (batch.1#1, traj.missing.2#0)",
                         "all.2 2 (batch.2#0)", "right.2 2 (all.2#0)",
                         "traj 0 (all#0, right#0, all.1#0, right.1#0, all.2#0, right.2#0)", "r2 0 (traj#0)",
                         "r 0 (traj#1, r2#0)", "adv 0 (r#0)", "step 0 (traj#0, adv#0)"));
  EXPECT_EQ(plan.nodes[5].replica, plan.nodes[1].replica);
  EXPECT_EQ(plan.nodes[5].settings, plan.nodes[1].settings);
}

TEST(Programs, WithoutRefillAFilterIsOneNode) {
  Compilation result =
      compile_text(read_file(fs::path(RLFLOW_SOURCE_DIR) / "pipelines/dapo.rlflow"), {"traj.refill=0"});
  ASSERT_TRUE(result.plan);
  EXPECT_EQ(result.plan->nodes.size(), 10u);
  EXPECT_EQ(inputs_text(*result.plan, result.plan->nodes[3]), "all#0, right#0");
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

TEST(Programs, AFileOfOverridesIsSortedInBetweenProgramAndCommandLine) {
  CompileRequest request = request_for(tiny_grpo(), project_root("programs"));
  request.texts["base.toml"] = "kl = 0.02\nsteps = 5\n[traj]\nn = 4\ntemperature = 0.5\n";
  request.texts["small.toml"] =
      "\xef\xbb\xbf# small\nhere = 'gpu[0..1]'\nbatch.count = 0x10\nr.timeout = \"9s\"\n"
      "[policy.optim]\nlr = 2e-6\nbetas = [0.5, # first\n 0.75]\n[traj]\ntemperature = 0.8\n";
  request.override_files = {"base.toml", "small.toml"};
  request.overrides = {"traj.n=16", "stop=7"};
  const Catalog known = catalog();
  Compilation result = compile(request, known);
  ASSERT_TRUE(result.plan) << render_all(result.analysis.diagnostics, result.analysis.sources);
  const Plan& plan = *result.plan;
  EXPECT_EQ(int_at(plan.nodes[1].constants, "n"), 16);             // the command line wins
  EXPECT_EQ(real_at(plan.nodes[1].settings, "temperature"), 0.8);  // then the later file
  EXPECT_EQ(real_at(plan.nodes[5].settings, "kl"), 0.02);          // then the first
  EXPECT_EQ(plan.groups[0].device, DeviceKind::gpu);
  EXPECT_EQ(int_at(plan.nodes[0].constants, "count"), 16);
  EXPECT_EQ(plan.nodes[2].timeout_ms, 9000);
  EXPECT_EQ(*plan.models[0].optim->named.at("lr").get<double>(), 2e-6);
  EXPECT_EQ(to_text(plan.models[0].optim->named.at("betas")), "[0.5, 0.75]");
  EXPECT_EQ(plan.stop_after, 7);
  EXPECT_EQ(plan.sources.size(), 1u);  // a file of overrides is no source of the program

  // What a run records of it gives the same plan again.
  CompileRequest again = request_for(tiny_grpo(), request.root.value());
  again.overrides = plan.overrides;
  Compilation second = compile(again, known);
  ASSERT_TRUE(second.plan) << render_all(second.analysis.diagnostics, second.analysis.sources);
  EXPECT_EQ(dump(*second.plan), dump(plan));
}

TEST(Programs, AFileOfOverridesHasAtMostAMebibyte) {
  CompileRequest request = request_for(tiny_grpo(), project_root("programs"));
  request.texts["large.toml"] = std::string((1 << 20) + 1, '#');
  request.override_files = {"large.toml"};
  Analysis analysis = analyze(request, catalog());
  ASSERT_EQ(analysis.diagnostics.size(), 1u);
  EXPECT_EQ(analysis.diagnostics[0].code, "E0217");
  EXPECT_EQ(analysis.diagnostics[0].message, "cannot read overrides from `large.toml`: it has more than 1 MiB");
}

TEST(Programs, GroupsCanBeMovedToOtherDevices) {
  Compilation result = compile_text(tiny_grpo(), {"here=gpu[2..3]"});
  ASSERT_TRUE(result.plan);
  EXPECT_EQ(result.plan->groups[0].device, DeviceKind::gpu);
  EXPECT_EQ(result.plan->groups[0].first, 2);
  EXPECT_EQ(result.plan->groups[0].last, 3);
}

TEST(Programs, AnImportedProgramCompilesFromItsRecordedSources) {
  CompileRequest request;
  request.path = (fs::path(RLFLOW_SOURCE_DIR) / "pipelines/grpo_async.rlflow").string();
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

TEST(Programs, OneNumberOfAnUpdateIsAnInput) {
  std::string text = replaced(tiny_grpo(), "  sync policy",
                              "  coef = adapt_kl(prev(coef, init=1), prev(step.entropy, init=0.5)) { target = 0.1, "
                              "horizon = 10 }\n  sync policy");
  Compilation result = compile_text(text);
  ASSERT_TRUE(result.plan) << render_all(result.analysis.diagnostics, result.analysis.sources);
  const std::vector<PlanNode>& nodes = result.plan->nodes;
  auto coef = std::find_if(nodes.begin(), nodes.end(), [](const PlanNode& node) { return node.name == "coef"; });
  ASSERT_NE(coef, nodes.end());
  EXPECT_EQ(nodes[coef->inputs[1].node.index()].name, "step");
  EXPECT_EQ(coef->inputs[1].metric, "entropy");
  EXPECT_TRUE(coef->inputs[1].previous_step);
  EXPECT_EQ(coef->inputs[1].init, 0.5);
  EXPECT_EQ(coef->inputs[0].metric, "");
  EXPECT_NE(compile_text(replaced(text, "step.entropy", "step.loss")).plan->meaning, result.plan->meaning);
}

// Found by the check of losses: the tokens of an advantage were taken for those of another rollout.
TEST(Programs, RewardsOfResponsesGiveAdvantagesOfTheirTokens) {
  std::string text = replaced(tiny_grpo(), "adv   : adv[B]     = advantage(r) { estimator = grpo }",
                              "adv = advantage(r) { estimator = reinforce_pp }");
  Compilation result = compile_text(text);
  EXPECT_TRUE(result.plan) << render_all(result.analysis.diagnostics, result.analysis.sources);
}

class Tokenizers : public ::testing::Test {
 protected:
  std::vector<std::string> codes(const std::string& text) {
    CompileRequest request = request_for(text, root_);
    request.overrides = {"kl=0.1"};
    analysis_ = analyze(request, known_);
    return codes_of(analysis_);
  }
  void write(const std::string& folder, const std::string& tokenizer) const {
    fs::create_directories(fs::path(root_) / folder);
    for (const char* file : {"config.json", "model.safetensors"}) std::ofstream(fs::path(root_) / folder / file);
    std::ofstream(fs::path(root_) / folder / "tokenizer.json") << tokenizer;
  }
  std::string other() const {
    return replaced(tiny_grpo(), "model ref    = load(\"models/tiny\")", "model ref = load(\"models/other\")");
  }

  const std::string root_ = project_root("tokenizers");
  const Catalog known_ = catalog();
  Analysis analysis_;
};

TEST_F(Tokenizers, MustBeEqualWhereModelsShareTokens) {
  write("models/tiny", R"({"vocab": {"a": 0, "b ": 1}})");
  write("models/other", R"({"vocab": {"a": 0, "b": 1}})");
  EXPECT_THAT(codes(other()), ElementsAre("E0608"));
  EXPECT_EQ(analysis_.diagnostics[0].message, "`ref` reads tokens of `policy`, whose tokenizer is another");
  EXPECT_EQ(analysis_.diagnostics[0].labels.size(), 2u);
}

TEST_F(Tokenizers, MayBeLaidOutDifferently) {
  write("models/tiny", R"({"vocab": {"a": 0, "b ": 1, "\"{ ": 2}})");
  write("models/other", "{\n  \"vocab\":{\"a\":0,\n\"b \":1,\"\\\"{ \":2} }\n");
  EXPECT_THAT(codes(other()), ElementsAre());
}

TEST_F(Tokenizers, OfAJudgeMayBeAnother) {
  write("models/tiny", R"({"vocab": {"a": 0}})");
  write("models/other", R"({"vocab": {"b": 0}})");
  std::string text = replaced(tiny_grpo(), "replica sampler",
                              "model judge = load(\"models/other\") on here { head = reward }\nreplica sampler");
  text = replaced(text, "score(exact, traj) { retry = 2, timeout = 5s }", "score(judge, traj)");
  EXPECT_THAT(codes(text), ElementsAre());
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
