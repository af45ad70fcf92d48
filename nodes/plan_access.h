// What node kinds read of their plan node: the tokenizer, the data set, the judge that it names.
#pragma once

#include <filesystem>

#include "nodes/format/tokenizer.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Folder of a model: its path as written, relative to the plan's root.
std::filesystem::path model_folder(const Plan& plan, ModelId model);

// The tokenizer that this node turns text into ids with. Throws FormatError naming the file.
Tokenizer tokenizer_of(const Plan& plan, const PlanNode& node);

const PlanData& data_of(const Plan& plan, const PlanNode& node);
// max_new of the rollout that made the trajectory, input 1 of `node`.
std::int64_t max_new_of(const Plan& plan, const PlanNode& node);

const PlanReward& reward_of(const Plan& plan, const PlanNode& node);

// dtype of the weights that the trajectory, input 1 of `node`, was sampled with.
Dtype sampling_dtype(const Plan& plan, const PlanNode& node);

// The data set that the prompts behind input 1 of `node` were taken from; null where no single take node made them.
const PlanData* data_behind(const Plan& plan, const PlanNode& node);

}  // namespace rlflow
