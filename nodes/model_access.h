// How a node reaches the language model that it reads or updates, and the threads it may use.
#pragma once

#include "nodes/batches.h"
#include "nodes/model/chunks.h"
#include "nodes/model/language_model.h"
#include "runtime/contract/check.h"
#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

inline LanguageModel& model_of(const TaskInputs& inputs) {
  auto* model = dynamic_cast<LanguageModel*>(inputs.model);
  RLFLOW_CHECK(model, "the task has no language model");
  return *model;
}

inline const PlanGroup& group_of(const Plan& plan, const PlanNode& node) {
  RLFLOW_CHECK(node.group.valid(), "node `" + node.name + "` has no group");
  return plan.groups[node.group.index()];
}
inline std::int32_t threads_of(const Plan& plan, const PlanNode& node) { return group_of(plan, node).threads; }
inline DeviceKind device_of(const Plan& plan, const PlanNode& node) { return group_of(plan, node).device; }

// What logits are multiplied by; temperature 0 samples the likeliest token and means log-probabilities at 1.
inline float inverse_temperature(double temperature) {
  return temperature == 0 ? 1.0f : static_cast<float>(1.0 / std::max(temperature, 1e-8));
}

inline TokenRows rows_of(const PackedTokens& packed) { return {packed.tokens, packed.offsets}; }
inline TokenRows rows_of(const Rollouts& traj) { return {traj.tokens, traj.batch->offsets}; }

}  // namespace rlflow
