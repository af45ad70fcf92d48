// The node combine: several rewards of the same responses become one.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Outputs reward[B] = Σ_k w_k·r_k, each r_k first put to mean 0 and deviation 1 over the batch or within its group
// where `normalize` says so. Throws NumericsError if a reward is not finite.
std::unique_ptr<Node> make_combine_node(const Plan& plan, NodeId node);

}  // namespace rlflow
