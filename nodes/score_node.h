// The node score with a reward function: one reward a response.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Outputs reward[B]; metrics reward/mean and reward/std; a few judged samples. A judge that gives no value fails the
// task, naming the response: it never becomes a reward of 0.
std::unique_ptr<Node> make_score_node(const Plan& plan, NodeId node);

}  // namespace rlflow
