// The node advantage over responses: rewards of a batch become advantages.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Outputs adv[B]. Throws NumericsError if a reward is not finite.
std::unique_ptr<Node> make_advantage_node(const Plan& plan, NodeId node);

// estimator = gdpo: several rewards of the same responses, one input each.
std::unique_ptr<Node> make_several_rewards_node(const Plan& plan, NodeId node);

}  // namespace rlflow
