// Responses whose reward the user knows: `reward NAME = … { examples = "file.jsonl" }`.
#pragma once

#include "nodes/reward/reward.h"

namespace rlflow {

// Judges every line of the file that the declaration names, if it names one: {"response":…,"reward":…} with `prompt`,
// `answer` and `ended` where the judge needs them, and any other fields as those of a data row. Throws
// std::runtime_error naming reward, file and line of the first that is not as it says, and how many there are.
void check_examples(const PlanReward& reward, const RewardPlace& place);

}  // namespace rlflow
