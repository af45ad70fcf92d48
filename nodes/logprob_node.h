// The node logprob: what a model thinks of sampled responses.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Outputs Numbers of kind logp, one a response token, at the trajectory's temperature; metric logprob/mean.
// Throws NumericsError if one is not finite.
std::unique_ptr<Node> make_logprob_node(const Plan& plan, NodeId node);

}  // namespace rlflow
