// Does the node library make what a plan asks for, and refuse by name what this build cannot do?
#include "nodes/run_library.h"

#include <gtest/gtest.h>

#include "nodes/model/backend.h"

namespace rlflow {
namespace {

Plan tiny_plan() {
  Plan plan;
  plan.root = RLFLOW_SOURCE_DIR;
  PlanGroup group;
  group.name = "here";
  plan.groups = {group};
  PlanModel model;
  model.name = "policy";
  model.path = "models/tiny";
  model.random_init = true;
  model.init_seed = 3;
  model.group = GroupId(0);
  plan.models = {model};
  PlanNode node;
  node.name = "adv";
  node.signature = "score/model";
  plan.nodes = {node};
  return plan;
}

template <class Call>
std::string refusal(Call call) {
  try {
    call();
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(RunLibrary, DrawsAModelByItsSeed) {
  const auto library = make_run_library();
  Plan plan = tiny_plan();
  const auto digest = [&] { return library->make_model(plan, ModelId(0), {})->weights_digest(); };
  const WeightsDigest first = digest();
  EXPECT_EQ(first, digest());
  plan.models[0].init_seed = 4;
  EXPECT_NE(first, digest());
}

TEST(RunLibrary, DrawsAdaptersByTheSeedOfTheRunAndTheNameOfTheModel) {
  const auto library = make_run_library();
  Plan plan = tiny_plan();
  plan.models[0].settings["lora"] = CallValue{"lora",
                                              {},
                                              {{"rank", Value(std::int64_t{4})},
                                               {"alpha", Value(8.0)},
                                               {"targets", Value(List{Value(Word{"q_proj"}), Value(Word{"v_proj"})})}}};
  const auto digest = [&](std::uint64_t seed) {
    return library->make_model(plan, ModelId(0), {seed})->weights_digest();
  };
  EXPECT_EQ(digest(1), digest(1));
  EXPECT_NE(digest(1), digest(2));
  // The base of a model that is in memory, and the same from the folder.
  PlanModel base = plan.models[0];
  base.name = "ref";
  base.settings.clear();
  base.base_of = ModelId(0);
  plan.models.push_back(base);
  const auto policy = library->make_model(plan, ModelId(0), {1});
  const auto near = library->make_model(plan, ModelId(1), {1, policy.get()});
  const auto far = library->make_model(plan, ModelId(1), {1});
  EXPECT_EQ(near->weights_digest(), far->weights_digest());
  EXPECT_NE(near->weights_digest(), policy->weights_digest());
  const WeightsDigest before = digest(1);
  plan.models[0].name = "other";
  EXPECT_NE(digest(1), before);
}

TEST(RunLibrary, RefusesWhatItHasNoCodeFor) {
  const auto library = make_run_library();
  Plan plan = tiny_plan();
  EXPECT_EQ(refusal([&] { library->make_node(plan, NodeId(0)); }),
            "node `adv`: this build has no code for score/model");
  plan.models[0].head = Head::reward;
  EXPECT_EQ(refusal([&] { library->make_model(plan, ModelId(0), {}); }),
            "model `policy`: this build has no reward heads yet");
#ifndef RLFLOW_CUDA
  plan.groups[0].device = DeviceKind::gpu;
  EXPECT_EQ(refusal([&] { library->enter_group(plan.groups[0]); }),
            "group `here`: this build has no GPU backend; use a group on the cpu, or build with ./dev build --cuda");
#endif
}

// A replica on another device goes through host memory; between devices of one kind that is a copy like any other.
TEST(RunLibrary, ACopyForAnotherDeviceHasTheWeights) {
  const auto library = make_run_library();
  const Plan plan = tiny_plan();
  const auto model = library->make_model(plan, ModelId(0), {1});
  const auto& trained = dynamic_cast<const LanguageModel&>(*model);
  const auto folder = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";
  const auto copy = copy_to(trained, folder, {}, {});
  EXPECT_EQ(copy->weights_digest(), model->weights_digest());
  EXPECT_EQ(copy->parts(), std::vector<std::string>{"parameters"});
  ModelForm rounded(Head::lm, Dtype::bf16);
  EXPECT_EQ(copy_to(trained, folder, {}, rounded)->weights_digest(),
            dynamic_cast<LanguageModel&>(*model->copy_for_replica("bf16")).weights_digest());
  ModelForm adapted;
  adapted.lora = LoraSettings{};
  EXPECT_EQ(refusal([&] { copy_to(trained, folder, {}, adapted); }),
            "a model with `lora` and its replica stand on one kind of device; give both the same group");
}

TEST(RunLibrary, SaysWhatThisBuildCanUse) {
  const Cluster machine = usable_machine();
  EXPECT_GE(machine.cpu_threads, 1);
  EXPECT_GT(machine.memory_bytes, 0u);
#ifndef RLFLOW_CUDA
  EXPECT_TRUE(machine.gpus.empty());
  EXPECT_EQ(machine.name, "this build, made without `--cuda`,");  // "… has no GPU"
#endif
}

TEST(RunLibrary, NamesTheFilesThatAPlanReads) {
  const auto library = make_run_library();
  Plan plan = tiny_plan();
  const std::vector<std::string> drawn = {"models/tiny/config.json", "models/tiny/tokenizer.json",
                                          "models/tiny/tokenizer_config.json"};
  EXPECT_EQ(library->files_of(plan), drawn);
  plan.models[0].random_init = false;
  std::vector<std::string> loaded = drawn;
  loaded.push_back("models/tiny/model.safetensors");
  EXPECT_EQ(library->files_of(plan), loaded);
}

TEST(RunLibrary, RecordsWhatResultsDependOn) {
  const auto facts = make_run_library()->environment();
  for (const char* name : {"libtorch", "cpu", "cpu kernels", "op rollout", "op update/policy"}) {
    ASSERT_TRUE(facts.contains(name)) << name;
    EXPECT_FALSE(facts.at(name).empty()) << name;
  }
  EXPECT_FALSE(facts.contains("op score/model"));
}

}  // namespace
}  // namespace rlflow
