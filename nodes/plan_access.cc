// What node kinds read of their plan node.
#include "nodes/plan_access.h"

#include "runtime/contract/check.h"

namespace rlflow {

std::filesystem::path model_folder(const Plan& plan, ModelId model) {
  RLFLOW_CHECK(model.valid(), "a node without a model");
  return std::filesystem::path(plan.root) / plan.models[model.index()].path;
}

Tokenizer tokenizer_of(const Plan& plan, const PlanNode& node) {
  RLFLOW_CHECK(node.tokenizer.valid(), "node `" + node.name + "` has no tokenizer");
  return read_tokenizer(model_folder(plan, node.tokenizer));
}

const PlanData& data_of(const Plan& plan, const PlanNode& node) {
  RLFLOW_CHECK(node.data.valid(), "node `" + node.name + "` has no data");
  return plan.data[node.data.index()];
}

const PlanReward& reward_of(const Plan& plan, const PlanNode& node) {
  RLFLOW_CHECK(node.reward.valid(), "node `" + node.name + "` has no reward");
  return plan.rewards[node.reward.index()];
}

std::int64_t max_new_of(const Plan& plan, const PlanNode& node) {
  const PlanInput& traj = node.inputs.at(1);
  RLFLOW_CHECK(traj.node.valid(), "an update without a trajectory");
  return int_at(plan.nodes[traj.node.index()].settings, "max_new");
}

Dtype sampling_dtype(const Plan& plan, const PlanNode& node) {
  const PlanInput& traj = node.inputs.at(1);
  RLFLOW_CHECK(traj.node.valid(), "an update without a trajectory");
  const PlanNode& rollout = plan.nodes[traj.node.index()];
  if (rollout.replica.valid()) return plan.replicas[rollout.replica.index()].dtype;
  return plan.models[node.model.index()].dtype;
}

const PlanData* data_behind(const Plan& plan, const PlanNode& node) {
  const PlanNode* at =
      node.inputs.size() > 1 && node.inputs[1].node.valid() ? &plan.nodes[node.inputs[1].node.index()] : nullptr;
  while (at != nullptr && at->op != "take") {
    const PlanNode* before = nullptr;
    for (const PlanInput& input : at->inputs) {
      if (!input.node.valid()) continue;
      const PlanNode& maker = plan.nodes[input.node.index()];
      const Kind kind = maker.outputs[static_cast<std::size_t>(input.port)].type.kind;
      if (kind == Kind::prompts || kind == Kind::traj) before = &maker;
    }
    at = before;
  }
  return at != nullptr && at->data.valid() ? &plan.data[at->data.index()] : nullptr;
}

}  // namespace rlflow
