// The node advantage where every token has its own: discounted rewards to go, and estimation with a critic.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// estimator = reinforce_pp: outputs adv[B, T], whitened discounted rewards to go.
std::unique_ptr<Node> make_token_advantage_node(const Plan& plan, NodeId node);

// estimator = gae: outputs adv[B, T], whitened over the batch where `whiten`, and returns[B, T] of the plain ones;
// metric value/explained_variance, 1 − var(returns − values)/var(returns).
std::unique_ptr<Node> make_value_advantage_node(const Plan& plan, NodeId node);

// estimator = remax: outputs adv[B, T], rewards to go less the reward of the greedy response of the same prompt.
std::unique_ptr<Node> make_baseline_advantage_node(const Plan& plan, NodeId node);

}  // namespace rlflow
