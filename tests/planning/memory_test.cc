// Is the arithmetic of memory right, and is what does not fit refused with changes that do?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/planning/memory_messages.h"
#include "compiler/compile.h"
#include "nodes/format/machine.h"
#include "nodes/signatures/catalog.h"

namespace rlflow::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kParameters = 7'615'616'512.0;

// A Qwen2.5 of 7B, 8 GPUs, GRPO with a reference.
std::string program(const std::string& budget, const std::string& micro, const std::string& group) {
  return R"(rlflow 1
group gpus = )" +
         group + R"(
model policy = load("seven") on gpus { trainable, dtype = bf16, optim = adamw(lr=1e-6) }
model ref = load("seven") on gpus { dtype = bf16 }
replica sampler = policy on gpus
data train = jsonl("train.jsonl") { max_prompt = 256 tokens }
reward exact = builtin("math_exact")
flow grpo {
  batch = take(train, 256)
  traj = rollout(sampler, batch, n=8) { max_new = 1024, budget = )" +
         budget + R"( }
  r = score(exact, traj)
  adv = advantage(r) { estimator = grpo }
  refl = logprob(ref, traj) { micro = )" +
         micro + R"( }
  step = update(policy, traj, adv, ref=refl) { kl = 0.01, micro = )" +
         micro + R"( }
  sync policy -> sampler every 1 step lag 0
  stop after 3
}
)";
}

std::string project() {
  static const std::string root = [] {
    std::filesystem::path folder = std::filesystem::path(RLFLOW_BINARY_DIR) / "planning_tests";
    std::filesystem::create_directories(folder / "seven");
    std::ofstream(folder / "seven/config.json") << R"({"model_type": "qwen2", "vocab_size": 152064,
      "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
      "num_key_value_heads": 4, "max_position_embeddings": 32768, "tie_word_embeddings": false,
      "eos_token_id": 151643})";
    return folder.string();
  }();
  return root;
}

Cluster h200() { return read_machine(std::string(RLFLOW_SOURCE_DIR) + "/pipelines/machines/h200x8.json"); }

struct Planned {
  Compilation compilation;
  std::vector<ModelFacts> models;
  DeviceNeed gpu, host;
};

Planned planned(const std::string& text, std::vector<std::string> overrides = {}) {
  static const Catalog known = catalog();
  CompileRequest request;
  request.path = "p.rlflow";
  request.texts = {{"p.rlflow", text}};
  request.only_texts = true;
  request.root = project();
  request.overrides = std::move(overrides);
  Planned result;
  result.compilation = compile(request, known);
  EXPECT_TRUE(result.compilation.plan) << render_all(result.compilation.analysis.diagnostics,
                                                     result.compilation.analysis.sources);
  if (!result.compilation.plan) return result;
  const Plan& plan = *result.compilation.plan;
  result.models = read_model_facts(plan);
  std::vector<DeviceNeed> needs = memory_of(plan, result.models, sizes_of(plan, result.models), h200());
  result.gpu = needs.front();
  result.host = needs.back();
  return result;
}

double bytes_of_kind(const DeviceNeed& need, PartKind kind) {
  double bytes = 0;
  for (const MemoryPart& part : need.parts) bytes += part.kind == kind ? part.bytes.value_or(0) : 0;
  return bytes;
}

std::string refusal(const Planned& result) {
  Diagnostics diagnostics;
  check_memory(*result.compilation.plan, result.compilation.analysis.pipeline, result.models, h200(), diagnostics);
  return render_all(diagnostics.list(), result.compilation.analysis.sources);
}

TEST(Memory, PartsOfASevenBillionModelAreThoseCountedByHand) {
  Planned result = planned(program("64Ki tokens", "4Ki tokens", "gpu[0..8]"));
  EXPECT_EQ(bytes_of_kind(result.gpu, PartKind::weights), 2 * 2 * kParameters);  // policy and ref
  EXPECT_EQ(bytes_of_kind(result.gpu, PartKind::gradients), 4 * kParameters);
  EXPECT_EQ(bytes_of_kind(result.gpu, PartKind::moments), 8 * kParameters);
  EXPECT_EQ(bytes_of_kind(result.gpu, PartKind::master), 2 * kParameters);
  EXPECT_EQ(bytes_of_kind(result.gpu, PartKind::replica), 0);  // in place
  // 65,536 tokens x 28 layers x 2 x 4 heads x 128 x 2 bytes = 3.5 GiB
  EXPECT_EQ(bytes_of_kind(result.gpu, PartKind::kv_cache), 3.5 * kGiB);
  EXPECT_TRUE(result.gpu.complete);
}

TEST(Memory, TpHalvesWeightsAndCache) {
  Planned one = planned(program("64Ki tokens", "4Ki tokens", "gpu[0..8]"));
  Planned two = planned(program("64Ki tokens", "4Ki tokens", "gpu[0..8] { tp = 2 }"));
  for (PartKind kind : {PartKind::weights, PartKind::gradients, PartKind::moments, PartKind::kv_cache}) {
    EXPECT_EQ(bytes_of_kind(one.gpu, kind), 2 * bytes_of_kind(two.gpu, kind)) << part_name(kind);
  }
}

TEST(Memory, GrowsWithMicroAndBudget) {
  double last = 0;
  for (const char* micro : {"2Ki tokens", "4Ki tokens", "16Ki tokens", "64Ki tokens"}) {
    double peak = planned(program("2Ki tokens", micro, "gpu[0..8]")).gpu.peak;
    EXPECT_GT(peak, last);
    last = peak;
  }
  last = 0;
  for (const char* budget : {"1Mi tokens", "2Mi tokens", "8Mi tokens"}) {
    double peak = planned(program(budget, "2Ki tokens", "gpu[0..8]")).gpu.peak;
    EXPECT_GT(peak, last);
    last = peak;
  }
}

// q and v of 28 layers: rank 16 x ((3584 + 3584) + (512 + 3584)) each; their matrix, with k, is 4608 x 3584.
TEST(Memory, AdaptersAreAllThatHasGradientsAndMoments) {
  constexpr double kAdapters = 28.0 * 16 * (7168 + 4096), kMatrices = 28.0 * 4608 * 3584;
  std::string text = program("64Ki tokens", "4Ki tokens", "cpu");
  const std::string loads = "model ref = load(\"seven\") on gpus { dtype = bf16 }";
  text.replace(text.find(loads), loads.size(), "model ref = base_of(policy)");
  text.replace(text.find("trainable,"), 10, "trainable, lora(rank=16, alpha=32),");
  Planned result = planned(text);
  const double whole = bytes_of_kind(planned(program("64Ki tokens", "4Ki tokens", "cpu")).host, PartKind::weights);
  // The CPU holds bf16 as f32: the base, its panels, and of the reference the panels that differ.
  EXPECT_EQ(bytes_of_kind(result.host, PartKind::weights), whole / 2 + 4 * kMatrices);
  EXPECT_EQ(bytes_of_kind(result.host, PartKind::adapters), 8 * kAdapters);
  EXPECT_EQ(bytes_of_kind(result.host, PartKind::gradients), 4 * kAdapters);
  EXPECT_EQ(bytes_of_kind(result.host, PartKind::moments), 8 * kAdapters);
  EXPECT_EQ(bytes_of_kind(result.host, PartKind::master), 0);
  const PlanSizes sizes = sizes_of(*result.compilation.plan, result.models);
  EXPECT_EQ(sizes.syncs[0].bytes, 0);  // in place
  Planned copied = planned(text, {"policy.dtype=f32", "sampler.dtype=f32", "policy.lora.targets=[q_proj]"});
  EXPECT_EQ(trained_parameters(copied.compilation.plan->models[0], *copied.models[0].shape), 28 * 16 * 7168);
}

TEST(Memory, OffloadedWeightsStandOnTheHost) {
  Planned result = planned(program("64Ki tokens", "4Ki tokens", "gpu[0..8]"), {"ref.offload=cpu"});
  EXPECT_EQ(bytes_of_kind(result.host, PartKind::offloaded), 2 * kParameters);
  EXPECT_EQ(result.gpu.always, kGiB + 16 * kParameters);
}

TEST(Memory, AModelThatIsNotThereIsUnknownAndNotZero) {
  std::string text = program("64Ki tokens", "4Ki tokens", "gpu[0..8]");
  text.replace(text.find("\"seven\""), 7, "\"absent\"");
  Planned result = planned(text);
  EXPECT_FALSE(result.gpu.complete);
  EXPECT_EQ(result.models[0].unknown_because, "`absent` has no config.json here");
  bool unknown = false;
  for (const MemoryPart& part : result.gpu.parts) unknown = unknown || (part.kind == PartKind::weights && !part.bytes);
  EXPECT_TRUE(unknown);
}

// The changes that the message names are made, and then it is silent.
TEST(Memory, ABudgetThatIsTooLargeIsRefusedWithOneThatFits) {
  Planned result = planned(program("16Mi tokens", "2Ki tokens", "gpu[0..8] { tp = 4 }"));
  std::string text = refusal(result);
  EXPECT_THAT(text, HasSubstr("error[E0513]: each GPU of `gpus` needs "));
  std::size_t at = text.find("`budget = ");
  ASSERT_NE(at, std::string::npos) << text;
  std::string budget = text.substr(at + 10, text.find('`', at + 1) - at - 10);
  EXPECT_EQ(refusal(planned(program(budget, "2Ki tokens", "gpu[0..8] { tp = 4 }"))), "");
}

TEST(Memory, MoreTpIsProposedWhereItFits) {
  std::string text = refusal(planned(program("64Ki tokens", "16Ki tokens", "gpu[0..8]")));
  EXPECT_THAT(text, HasSubstr("`tp = 2` for `gpus`: "));
  EXPECT_EQ(refusal(planned(program("64Ki tokens", "16Ki tokens", "gpu[0..8] { tp = 2 }"))), "");
}

TEST(Memory, BytesAreReadable) {
  EXPECT_EQ(bytes_text(12), "12 B");
  EXPECT_EQ(bytes_text(1.5 * kGiB), "1.5 GiB");
  EXPECT_EQ(bytes_text(140 * kGiB), "140 GiB");
}

}  // namespace
}  // namespace rlflow::testing
