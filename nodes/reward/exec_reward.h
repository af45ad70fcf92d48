// A program of the user's as a judge: `reward NAME = exec("COMMAND")`.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "nodes/reward/judging_loop.h"
#include "nodes/reward/reward.h"
#include "runtime/contract/digest.h"

namespace rlflow {

// Its workers are started when they are first needed, stay between calls, and end with the object. Throws
// std::runtime_error naming the declaration where its command cannot be read or names no program.
std::unique_ptr<Reward> make_exec_reward(const PlanReward& reward, const RewardPlace& place,
                                         const ExecLimits& limits = {});

// The files that a declaration's command names, as written, with their digests: what a run records of a program whose
// outputs it cannot foresee. Empty for a built-in.
std::map<std::string, Digest> program_files(const PlanReward& reward, const RewardPlace& place);

}  // namespace rlflow
