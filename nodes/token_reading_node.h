// The nodes logprob and value: what a model says of each response token, a number each.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Of the responses of a trajectory or of pairs. logprob: outputs logp[B, T] under softmax(z/T), T the temperature of
// sampling. value: outputs value[B, T], the critic's expectation before each token is known. A number that is not
// finite stops the task (NumericsError).
std::unique_ptr<Node> make_logprob_node(const Plan& plan, NodeId node);
std::unique_ptr<Node> make_value_node(const Plan& plan, NodeId node);

}  // namespace rlflow
