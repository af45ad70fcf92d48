// Does the node advantage compare each response with the others of its prompt?
#include <gtest/gtest.h>

#include <limits>

#include "nodes/advantage_node.h"
#include "nodes/batches.h"

namespace rlflow {
namespace {

TaskResult advantage_of(const std::string& estimator, std::vector<float> rewards, bool per_token = false) {
  Plan plan;
  plan.nodes.resize(1);
  plan.nodes[0].settings = {
      {"estimator", Value(Word{estimator})}, {"eps", Value(1e-6)}, {"scale", Value(Word{"group"})}};
  auto batch = std::make_shared<BatchDescriptor>();
  batch->group = {0, 0, 5, 5};  // prompts 1 to 4 gave no response
  batch->offsets = {0, 2, 4, 6, 8};
  batch->mask.assign(8, 1);
  batch->finish.assign(4, 0);
  TaskInputs inputs;
  inputs.payloads = {std::make_shared<Numbers>(Kind::reward, batch, per_token, std::move(rewards))};
  return make_advantage_node(plan, NodeId(0))->run(inputs, {});
}

TEST(AdvantageNode, EachEstimator) {
  const auto values = [](const TaskResult& result) { return dynamic_cast<const Numbers&>(*result.outputs.at(0)).data; };
  const std::vector<float> grpo = values(advantage_of("grpo", {1, 0, 1, 0.5f}));
  EXPECT_NEAR(grpo[0], 0.707106, 1e-6);
  EXPECT_NEAR(grpo[3], -0.707105, 1e-6);
  EXPECT_EQ(values(advantage_of("dr_grpo", {1, 0, 1, 0.5f})), (std::vector<float>{0.5f, -0.5f, 0.25f, -0.25f}));
  EXPECT_EQ(values(advantage_of("rloo", {1, 0, 1, 0.5f})), (std::vector<float>{1, -1, 0.5f, -0.5f}));
  EXPECT_EQ(values(advantage_of("rloo", {0.5f, 0.5f, 0, 0, 1, 0, 0, 0.5f}, true)),
            (std::vector<float>{1, -1, 0.5f, -0.5f}));
}

TEST(AdvantageNode, ARewardThatIsNotFiniteStopsTheRun) {
  EXPECT_THROW(advantage_of("grpo", {1, std::numeric_limits<float>::quiet_NaN(), 1, 0}), NumericsError);
}

TEST(AdvantageNode, EstimatorsWithoutCodeAreRefused) {
  EXPECT_THROW(advantage_of("opo", {1, 0, 1, 0}), std::runtime_error);
}

}  // namespace
}  // namespace rlflow
