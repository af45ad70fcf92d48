// What is part of a program's meaning, and what is not? One assertion for each item of the reference.
#include <gtest/gtest.h>

#include "tests/compiler/support.h"

namespace rlflow::testing {
namespace {

// Uses every part of the language whose place in the meaning the reference names.
constexpr const char* kProgram = R"(rlflow 1
import "shared.rlflow" as shared
param weight : float = 0.01 in 0..1 "weight of the KL"
param rounds : int = 12
group roll = gpu[0..2] { tp = 2 }
group learn = gpu[4..8] { tp = 2 }
group side = cpu { threads = 3 }
model policy = load("models/tiny") on learn { trainable, dtype = bf16, optim = adamw(lr=1e-6) }
model ref = load("models/tiny") on learn { dtype = bf16, offload = cpu }
model probe = load("models/tiny") on side
replica sampler = policy on roll
data train = builtin("addition") { seed = 1, size = 512, shuffle }
flow f {
  batch = take(train, 16)
  traj = rollout(sampler, batch, n=4) { max_new = 34, budget = 4Ki tokens, retry = 2, timeout = 5m }
  r = score(shared.exact, traj) { workers = 4, timeout = 5s }
  adv = advantage(r) { estimator = grpo }
  seen = logprob(probe, traj)
  refl = logprob(ref, traj) { micro = 2Ki tokens }
  coef0 = adapt_kl(prev(coef0, init=0.1), prev(klnow, init=0.2)) { target = 0.1, horizon = 10 }
  dense, klnow = kl_penalty(r, seen, refl, coef=coef0)
  old = logprob(policy, traj)
  step = update(policy, traj, adv, old=old, ref=refl) { loss = ppo, kl = weight, off_policy = truncate(2.0), micro = 2Ki tokens, from = 2 }
  sync policy -> sampler every 2 steps lag 1 { via = nccl }
  every 4 steps and at start { acc = evaluate(sampler, train, shared.exact) { max_new = 34 } }
  every 5 steps { checkpoint(policy) { keep = 2 } }
  stop after rounds
}
)";

std::string with(const std::string& from, const std::string& to, std::string text = kProgram) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

Digest meaning(const std::string& text, std::vector<std::string> overrides = {},
               const std::string& shared = "rlflow 1\nreward exact = builtin(\"exact_answer\")\n") {
  CompileRequest request = request_for(text, project_root("meaning"));
  request.texts["shared.rlflow"] = shared;
  request.overrides = std::move(overrides);
  static const Catalog kKnown = catalog();
  Compilation result = compile(request, kKnown);
  EXPECT_TRUE(result.plan) << render_all(result.analysis.diagnostics, result.analysis.sources);
  return result.plan ? result.plan->meaning : Digest();
}

Digest changed(const std::string& override_text) { return meaning(kProgram, {override_text}); }

TEST(Meaning, IsNotChangedByForm) {
  const Digest same = meaning(kProgram);
  EXPECT_EQ(same, meaning(with(" = ", "   =  "))) << "white space";
  EXPECT_EQ(same, meaning(with("\n", "  # a comment\n"))) << "comments";
  EXPECT_EQ(same, meaning(with("\n", "\r\n"))) << "line ends";
  EXPECT_EQ(same, meaning(with("weight", "beta", with("\"weight of the KL\"", "\"\"")))) << "names of params, docs";
  EXPECT_EQ(same, meaning(with("kl = weight", "kl = 0.02 / 2"))) << "how a value is computed";
  EXPECT_EQ(same, meaning(with(" in 0..1", " in 0..2"))) << "domains of params";
  EXPECT_EQ(same, meaning(with("batch = take", "batch : prompts[Q] = take"))) << "annotations";
  EXPECT_EQ(same, meaning(with("loss = ppo, ", "loss = ppo, clip = 0.2, "))) << "a default written out";
  EXPECT_EQ(same, meaning(with("loss = ppo, kl = weight", "kl = weight, loss = ppo"))) << "order of settings";
  EXPECT_EQ(same, meaning(with("flow f {", "flow g {"))) << "the flow's name";
}

TEST(Meaning, IsNotChangedByHowItIsRun) {
  const Digest same = meaning(kProgram);
  EXPECT_EQ(same, changed("stop=99")) << "stop";
  EXPECT_EQ(same, changed("traj.retry=0")) << "retries";
  EXPECT_EQ(same, changed("r.timeout=1s")) << "timeouts";
  EXPECT_EQ(same, changed("r.workers=1")) << "workers";
  EXPECT_EQ(same, changed("checkpoint.keep=9")) << "retention";
  EXPECT_EQ(same, changed("roll=gpu[2..4]")) << "device numbers";
  EXPECT_EQ(same, changed("ref.offload=none")) << "where weights wait";
  EXPECT_EQ(same, changed("sync.sampler.via=auto")) << "how weights travel";
}

TEST(Meaning, IsChangedByNamesOfNodesAndModels) {
  const Digest same = meaning(kProgram);
  EXPECT_NE(same, meaning(with("seen", "looked"))) << "a node";
  EXPECT_NE(same, meaning(with("probe", "onlooker"))) << "a model";
  EXPECT_NE(same, meaning(with("sampler", "drawer"))) << "a replica";
  EXPECT_NE(same, meaning(with("data train", "data drill",
                               with("take(train", "take(drill", with("sampler, train", "sampler, drill")))))
      << "a data set";
}

TEST(Meaning, IsChangedByResources) {
  const Digest same = meaning(kProgram);
  EXPECT_NE(same, changed("side.threads=2")) << "threads";
  EXPECT_NE(same, changed("learn.tp=4")) << "tp and dp";
  EXPECT_NE(same, changed("learn=gpu[4..6]")) << "dp";
  EXPECT_NE(same, changed("side=gpu[9..10]")) << "the kind of device";
  EXPECT_NE(same, changed("step.micro=1Ki tokens")) << "micro of update";
  EXPECT_NE(same, changed("refl.micro=1Ki tokens")) << "micro of a pass";
  EXPECT_NE(same, changed("traj.budget=2Ki tokens")) << "budget";
}

TEST(Meaning, IsChangedByWhatIsComputed) {
  const Digest same = meaning(kProgram);
  EXPECT_NE(same, changed("weight=0.02")) << "a param that is read";
  EXPECT_NE(same, changed("batch.count=32")) << "a shape constant";
  EXPECT_NE(same, changed("traj.n=8")) << "samples";
  EXPECT_NE(same, changed("traj.temperature=0.9")) << "a default that is changed";
  EXPECT_NE(same, changed("adv.estimator=rloo")) << "an estimator";
  EXPECT_NE(same, changed("policy.optim.lr=2e-6")) << "an argument of a call";
  EXPECT_NE(same, changed("policy.dtype=f32")) << "a dtype";
  EXPECT_NE(same, changed("train.seed=2")) << "data";
  EXPECT_NE(same, changed("train.shuffle=false")) << "order of data";
  EXPECT_NE(same, changed("step.from=3")) << "from";
  EXPECT_NE(same, changed("r.on_failure=drop_group")) << "whether a failed group is dropped";
  EXPECT_NE(same, meaning(with("models/tiny\") on side", "models/tiny2\") on side"))) << "a model's folder";
  EXPECT_NE(same, meaning(with("every 2 steps lag 1", "every 1 step lag 1"))) << "the period of a sync";
  EXPECT_NE(same, meaning(with("lag 1", "lag 2"))) << "a lag";
  EXPECT_NE(same, meaning(with("lag 1", "lag <= 1"))) << "a lag that may vary";
  EXPECT_NE(same, meaning(with("every 4 steps", "every 3 steps"))) << "when an evaluation is due";
  EXPECT_NE(same, meaning(with(" and at start", ""))) << "an evaluation of version 0";
  EXPECT_NE(same, meaning(with("init=0.2", "init=0.3"))) << "the first value of prev";
  EXPECT_NE(same, meaning(with("old=old", "old=seen"))) << "an edge";
  EXPECT_NE(same, meaning(kProgram, {}, "rlflow 1\nreward exact = builtin(\"math_exact\")\n")) << "an import";
}

}  // namespace
}  // namespace rlflow::testing
