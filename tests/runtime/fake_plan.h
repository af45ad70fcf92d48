// Plans for the engine's tests, made by hand as the compiler would make them.
#pragma once

#include <string>

#include "runtime/contract/plan.h"

namespace rlflow::testing {

struct PlanShape {
  Step steps = 6;
  std::int64_t lag = 0;
  std::int64_t sync_every = 1;
  bool two_groups = false;  // rollouts and evaluations on a group of their own, which implies a copy
  bool copy = false;        // a replica that does not share its model, on the same group
  bool critic = false;      // a second trained model
  Step update_from = 1;     // `from` of the policy's update
  std::int64_t evaluate_every = 2;
  std::int64_t checkpoint_every = 3;  // 0: no checkpoint node
  std::int64_t keep = 1;
  bool stream = false;  // the rollout emits its three groups; score and advantage work by group
};

// batch = take · traj = rollout(sampler, batch) · r = score(traj) · old = logprob(policy, traj) ·
// coef = adapt_kl(prev(coef, init=0.05), prev(gap, init=0.1)) · gap = kl(old, coef) · adv = advantage(r, coef) ·
// step = update(policy, traj, adv, old) [· vstep = update(critic, traj, r)] ·
// every { acc = evaluate(sampler) } and at start · every { checkpoint(policy) }
// With `stream` adv = advantage(r), since a value of the whole batch would keep it from working by group.
Plan fake_plan(const PlanShape& shape);
NodeId node_named(const Plan& plan, const std::string& name);
PlanNode& node_of(Plan& plan, const std::string& name);

}  // namespace rlflow::testing
