// Rounds of sampling again: a `filter` with `refill = k` becomes k more takes, rollouts and scores in the plan.
#pragma once

#include <set>

#include "runtime/contract/plan.h"

namespace rlflow {

// For each filter with `refill = k` and each round j = 1 … k the plan gets copies of what makes the filter's inputs,
// named `NAME.j`, with PlanNode::round = j, and a node `refill` before them:
//
//   refill(r, r.1, … r.(j-1))  -> how many prompt groups are still missing
//   take(missing, cursor)      -> so many prompts, from where the take before it stopped
//   rollout, score, combine    -> as in the program
//   filter(traj, r, traj.1, r.1, …)
//
// The first take goes on where the last take of the step before stopped, so each row of the data is taken once. A round
// that is not needed runs with an empty batch. Engine, keys, resume and replay know nothing of rounds.
// Unchecked: the inputs of such a filter are made by one take, one rollout and any number of score and combine.
void unroll_refills(Plan& plan);

}  // namespace rlflow
