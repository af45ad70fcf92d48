// The nodes kl_penalty and adapt_kl: the KL to a reference in the reward, and its coefficient.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// r_t = score on the last token of the response − β·K(ℓ, ℓ_ref)_t on the tokens of the mask. Outputs reward[B, T] and
// scalar k̄, the mean over responses of the masked mean of K; metrics kl and kl_coef.
std::unique_ptr<Node> make_kl_penalty_node(const Plan& plan, NodeId node);

// β ← β·(1 + clip(k̄/target − 1, ±0.2)·B/horizon), B the responses of a step as the program fixes them.
std::unique_ptr<Node> make_adapt_kl_node(const Plan& plan, NodeId node);

}  // namespace rlflow
