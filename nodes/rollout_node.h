// The node rollout: samples responses to prompts.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Outputs Rollouts; metrics response_length/mean, response_length/max, clip_ratio (the share cut off at max_new) and
// tokens (sampled). Throws NumericsError if a log-probability is not finite.
std::unique_ptr<Node> make_rollout_node(const Plan& plan, NodeId node);

}  // namespace rlflow
