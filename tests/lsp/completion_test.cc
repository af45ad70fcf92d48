// Is what the editor offers what may stand at the cursor, and no more?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lsp/editor.h"

namespace rlflow::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::vector<std::string> offered(const std::string& from, const std::string& to) {
  Editor editor;
  editor.open(changed(from, to));
  return editor.labels();
}

const std::string kAdvantage = "advantage(r) { estimator = grpo }";

TEST(Completion, ADeclarationBeginsWithItsWord) {
  EXPECT_THAT(offered("group here", "|\ngroup here"),
              AllOf(Contains("model"), Contains("data"), Not(Contains("flow"))));
}

TEST(Completion, BehindTheEqualsOfANodeStandOps) {
  EXPECT_THAT(offered("  adv = " + kAdvantage, "  adv = |"),
              AllOf(Contains("advantage"), Contains("rollout"), Not(Contains("evaluate")), Not(Contains("policy"))));
  EXPECT_THAT(offered("{ checkpoint(policy)", "{ acc = ev|\n checkpoint(policy)"), Contains("evaluate"));
}

TEST(Completion, InputsAreNamesOfTheirKind) {
  EXPECT_THAT(offered("advantage(r)", "advantage(|)"),
              AllOf(Contains("r"), Not(Contains("traj")), Not(Contains("adv"))));
  EXPECT_THAT(offered("score(exact, traj)", "score(exact, |)"), ElementsAre("traj"));
  EXPECT_THAT(offered("rollout(sampler,", "rollout(|,"), Contains("sampler"));
  EXPECT_THAT(offered("take(train, 32)", "take(tr|"), ElementsAre("train"));
}

TEST(Completion, MetricsOfAnUpdateAreNumbers) {
  const std::string line = "  sync policy";
  EXPECT_THAT(offered(line, "  coef = adapt_kl(|)\n" + line),
              AllOf(Contains("step.loss"), Contains("step.kl"), Contains("prev"), Not(Contains("step"))));
  EXPECT_THAT(offered(line, "  coef = adapt_kl(prev(|\n" + line), Contains("step.entropy"));
  EXPECT_THAT(offered("advantage(r)", "advantage(|)"), Not(Contains("step.loss")));
}

TEST(Completion, InsideEveryStandOnlyItsNodes) {
  EXPECT_THAT(
      offered("{ checkpoint(policy)", "{ |\n checkpoint(policy)"),
      AllOf(Contains("checkpoint"), Not(Contains("sync")), Not(Contains("every")), Not(Contains("stop after"))));
}

TEST(Completion, OnlyTrainableModelsAreUpdated) {
  EXPECT_THAT(offered("update(policy, traj, adv, ref=refl)", "update(|)"),
              AllOf(Contains("policy"), Not(Contains("ref"))));
}

TEST(Completion, ANamedInputTakesItsKind) {
  EXPECT_THAT(offered("ref=refl)", "ref=|)"), ElementsAre("refl"));
  EXPECT_THAT(offered("adv, ref=refl)", "adv, |)"),
              AllOf(Contains("ref="), Contains("old="), Not(Contains("returns="))));
}

TEST(Completion, SettingsOfTheNodeThatAreNotGiven) {
  EXPECT_THAT(offered("{ temperature = 1.0, max_new", "{ temperature = 1.0, |, max_new"),
              AllOf(Contains("top_p"), Contains("retry"), Not(Contains("temperature")), Not(Contains("max_new")),
                    Not(Contains("loss"))));
  EXPECT_THAT(offered("{ threads = 2 }", "{ | }"), AllOf(Contains("threads"), Contains("tp"), Not(Contains("loss"))));
  EXPECT_THAT(offered("{ digits = 2..3 }", "{ di|"),
              AllOf(Contains("digits"), Contains("split"), Not(Contains("prompt"))));
}

TEST(Completion, ValuesOfASetting) {
  EXPECT_THAT(offered("loss = ppo", "loss = |"), AllOf(Contains("ppo"), Contains("gspo"), Not(Contains("sft"))));
  EXPECT_THAT(offered("estimator = grpo", "estimator = g|"), AllOf(Contains("grpo"), Not(Contains("steps"))));
  EXPECT_THAT(offered("kl = 0.1", "kl = |"), ElementsAre("steps"));
  EXPECT_THAT(offered("64 seqs", "64 |"), ElementsAre("seqs"));
  EXPECT_THAT(offered("timeout = 5s", "timeout = 5 |"), UnorderedElementsAre("ms", "s", "m", "h"));
}

TEST(Completion, ArgumentsOfAnOptimizerAndItsSchedule) {
  EXPECT_THAT(offered("adamw(lr=1e-4)", "ad|"), ElementsAre("adamw"));
  EXPECT_THAT(offered("adamw(lr=1e-4)", "adamw(lr=1e-4, |)"), AllOf(Contains("clip"), Contains("betas")));
  EXPECT_THAT(offered("adamw(lr=1e-4)", "adamw(lr=c|)"), Contains("cosine"));
  EXPECT_THAT(offered("adamw(lr=1e-4)", "adamw(lr=cosine(1e-4, |))"),
              AllOf(Contains("warmup"), Not(Contains("betas"))));
}

TEST(Completion, AdaptersTheirTargetsAndTheModelOfABase) {
  EXPECT_THAT(offered("optim = adamw(lr=1e-4)", "lora(|)"), AllOf(Contains("rank"), Contains("targets")));
  EXPECT_THAT(offered("optim = adamw(lr=1e-4)", "lora(rank=8, targets=[q_proj, |])"), Contains("down_proj"));
  EXPECT_THAT(offered("optim = adamw(lr=1e-4)", "lora = lora(targets=[|])"), Contains("v_proj"));
  EXPECT_THAT(offered("model ref = load(\"m\") on here", "model ref = base_of(|)"), ElementsAre("policy", "ref"));
}

TEST(Completion, ClausesAndStatements) {
  EXPECT_THAT(offered("load(\"m\") on here\n", "load(\"m\") on |\n"), ElementsAre("here"));
  EXPECT_THAT(offered("sync policy ->", "sync |"), UnorderedElementsAre("policy", "ref"));
  EXPECT_THAT(offered("-> sampler", "-> |"), ElementsAre("sampler"));
  EXPECT_THAT(offered("= policy on", "= | on"), UnorderedElementsAre("policy", "ref"));
  EXPECT_THAT(offered("  stop after", "  st|\n  stop after"), AllOf(Contains("sync"), Contains("every")));
  EXPECT_THAT(offered("batch : prompts[P]", "batch : |"), AllOf(Contains("prompts"), Contains("traj")));
  EXPECT_THAT(offered("param steps : int", "param steps : |"), AllOf(Contains("int"), Contains("tokens")));
}

TEST(Completion, ExpressionsAreOfParameters) {
  EXPECT_THAT(offered("logprob(ref, traj)", "logprob(ref, traj) when |"),
              AllOf(Contains("steps"), Contains("max"), Not(Contains("traj")), Not(Contains("policy"))));
  EXPECT_THAT(offered("int = 100", "int = |"), AllOf(Contains("min"), Not(Contains("policy"))));
}

// A params of each type, behind which the places stand.
std::vector<std::string> params_offered(const std::string& from, const std::string& to) {
  Editor editor;
  const std::string params =
      "param rate : float = 0.1\nparam base : path = \"m\"\nparam wait : duration = 5s\nparam many : tokens = 1 "
      "tokens\n"
      "param sure : bool = true\nparam how : word = grpo\nparam what : word = fast\n";
  std::string text = changed(from, to);
  text.insert(text.find("param steps"), params);
  editor.open(text);
  std::vector<std::string> names;
  for (const std::string& label : editor.labels()) {
    for (const char* name : {"steps", "rate", "base", "wait", "many", "sure", "how", "what"}) {
      if (label == name) names.push_back(label);
    }
  }
  return names;
}

TEST(Completion, ParamsAreOfTheTypeOfThePlace) {
  EXPECT_THAT(params_offered("stop after steps", "stop after |"), ElementsAre("steps"));
  EXPECT_THAT(params_offered("train, 32", "train, |"), ElementsAre("steps"));
  EXPECT_THAT(params_offered("kl = 0.1", "kl = |"), UnorderedElementsAre("steps", "rate"));
  EXPECT_THAT(params_offered("lr=1e-4", "lr=|"), UnorderedElementsAre("steps", "rate"));
  EXPECT_THAT(params_offered("timeout = 5s", "timeout = |"), ElementsAre("wait"));
  EXPECT_THAT(params_offered("minibatch = 64 seqs", "micro = |"), ElementsAre("many"));
  EXPECT_THAT(params_offered("estimator = grpo", "estimator = |"), ElementsAre("how"));
  EXPECT_THAT(params_offered("policy = load(\"m\")", "policy = load(|)"), ElementsAre("base"));
  EXPECT_THAT(params_offered("every 1 step", "every | step"), ElementsAre("steps"));
  EXPECT_THAT(params_offered("logprob(ref, traj)", "logprob(ref, traj) when |"),
              UnorderedElementsAre("steps", "rate", "wait", "many", "sure"));
  EXPECT_THAT(params_offered("group here = cpu", "param more : float = |\ngroup here = cpu"),
              UnorderedElementsAre("steps", "rate"));
}

TEST(Completion, WordsOfLaterVersionsAreNotOffered) {
  for (const auto& labels : {offered("group here", "|\ngroup here"), offered("  stop after", "  |\n  stop after")}) {
    for (const char* word : {"use", "buffer", "env", "def"}) EXPECT_THAT(labels, Not(Contains(word)));
  }
}

TEST(Completion, AnEmptyFileBeginsWithTheVersion) {
  Editor editor;
  editor.open("# my program\n|");
  EXPECT_THAT(editor.labels(), Contains("rlflow 1"));
  editor.open("rlflow 1\n|");
  EXPECT_THAT(editor.labels(), Not(Contains("rlflow 1")));
}

TEST(Completion, NamesOfBuiltinsInsideTheirString) {
  EXPECT_THAT(offered("\"exact_answer\"", "\"ex|\""), AllOf(Contains("exact_answer"), Not(Contains("addition"))));
  EXPECT_THAT(offered("\"addition\"", "\"|\""), ElementsAre("addition"));
}

TEST(Completion, NamesOfAnImport) {
  Editor editor;
  editor.open("rlflow 1\nparam n : int = 1\n", "file:///nowhere/lib.rlflow");
  editor.open("rlflow 1\nimport \"lib.rlflow\" as l\nparam k : int = l.|\n");
  EXPECT_THAT(editor.labels(), Contains("l.n"));
}

TEST(Completion, NothingInACommentOrATextOfTheUser) {
  EXPECT_THAT(offered("group here", "# not |here\ngroup here"), IsEmpty());
  EXPECT_THAT(offered("\"optimizer steps\"", "\"optimizer |\""), IsEmpty());
}

// Every place of a program, whole and cut off there, has an answer.
TEST(Completion, AnswersEverywhere) {
  Editor editor;
  for (std::size_t at = 0; at <= kProgram.size(); at += 3) {
    editor.open(kProgram.substr(0, at) + "|");
    editor.labels();
    editor.at_cursor("hover");
    editor.at_cursor("definition");
  }
}

}  // namespace
}  // namespace rlflow::testing
