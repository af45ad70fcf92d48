// The node update over examples: supervised fine-tuning.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Loss −ℓ over the tokens of the loss mask, aggregated as the settings say. Metrics loss, grad_norm, lr, tokens,
// optimizer_steps.
std::unique_ptr<Node> make_update_sft_node(const Plan& plan, NodeId node);

}  // namespace rlflow
