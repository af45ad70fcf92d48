// Does the node library make what a plan asks for, and refuse by name what this build cannot do?
#include "nodes/run_library.h"

#include <gtest/gtest.h>

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
  const auto digest = [&] { return library->make_model(plan, ModelId(0))->weights_digest(); };
  const WeightsDigest first = digest();
  EXPECT_EQ(first, digest());
  plan.models[0].init_seed = 4;
  EXPECT_NE(first, digest());
}

TEST(RunLibrary, RefusesWhatItHasNoCodeFor) {
  const auto library = make_run_library();
  Plan plan = tiny_plan();
  EXPECT_EQ(refusal([&] { library->make_node(plan, NodeId(0)); }),
            "node `adv`: this build has no code for score/model");
  plan.models[0].dtype = Dtype::bf16;
  EXPECT_EQ(refusal([&] { library->make_model(plan, ModelId(0)); }),
            "model `policy`: on the cpu this build computes in f32 only");
#ifndef RLFLOW_CUDA
  plan.groups[0].device = DeviceKind::gpu;
  EXPECT_EQ(refusal([&] { library->enter_group(plan.groups[0]); }),
            "group `here`: this build has no GPU backend; use a group on the cpu, or build with ./dev build --cuda");
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
