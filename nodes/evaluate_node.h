// The node evaluate: answers every row of a data set and judges the answers.
#pragma once

#include <memory>

#include "nodes/reward/reward.h"
#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Outputs Metrics: accuracy (the mean reward, mean@n), with n > 1 best@k and maj@k (evaluation_statistics.h),
// response_length/mean and clip_ratio; a few samples. Throws
// std::runtime_error naming data set and row where a row cannot be read, asked or judged.
std::unique_ptr<Node> make_evaluate_node(const Plan& plan, NodeId node, const RewardPlace& place);

}  // namespace rlflow
