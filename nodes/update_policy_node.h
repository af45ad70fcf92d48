// The node update over trajectories: moves a policy along its advantages.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Loss ppo with `old` or, where that is absent, the sampling log-probabilities; KL to `ref` and entropy as weighted in
// the settings. Responses whose advantage is 0 are left out of the computation where only the policy loss counts;
// their tokens still count in the denominators.
// Metrics: loss, grad_norm, lr, clipfrac, clipfrac_lower (with dual_clip), approx_kl, kl (with ref), entropy,
// optimizer_steps, tokens, and rollout_gap/max and /mean where the trajectory was sampled by the version updated.
// Throws NumericsError where that gap exceeds 1e-3: training and sampling then disagree about the same weights.
std::unique_ptr<Node> make_update_policy_node(const Plan& plan, NodeId node);

}  // namespace rlflow
