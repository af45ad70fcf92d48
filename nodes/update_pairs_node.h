// The node update from pairs: direct preference optimization.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// loss = dpo, the mean over the pairs of a minibatch (nodes/algo/pair_loss.h). Log-probabilities are of temperature 1.
// Metrics, means over the planned optimizer steps: loss, grad_norm, lr, accuracy (pairs of positive margin), margin,
// reward/chosen and reward/rejected (β times the log-ratio to the reference), tokens.
std::unique_ptr<Node> make_update_pairs_node(const Plan& plan, NodeId node);

}  // namespace rlflow
