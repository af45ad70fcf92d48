// The node update of a critic: its values move towards the returns.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Clipped squared error (nodes/algo/value_loss.h), aggregated as the policy's losses are. Metrics: loss, grad_norm,
// lr, optimizer_steps, clipfrac, tokens, means over the planned optimizer steps.
std::unique_ptr<Node> make_update_critic_node(const Plan& plan, NodeId node);

}  // namespace rlflow
