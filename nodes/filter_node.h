// The nodes filter and refill: which responses are worth training on, and how many groups are still wanted?
#pragma once

#include <memory>

#include "nodes/batches.h"
#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

enum class Drop { uniform_groups, overlong };

// Rows of `reward`'s batch that stay, ascending. uniform_groups: those of groups whose scores are not all equal (a
// group-wise advantage of the others is 0). overlong: those that ended by themselves.
std::vector<std::size_t> rows_kept(const Numbers& reward, Drop drop);

// Inputs traj[B, T], reward[B] and, with `refill`, the same of each round; outputs the rows that stay as one batch, in
// admission order. A round samples no more prompts than are missing, so there are never too many groups; prompts are
// numbered through the rounds. Metrics: groups (kept), dropped (groups; responses with overlong), and with refills
// rounds (that sampled) and missing (groups still, after the last).
std::unique_ptr<Node> make_filter_node(const Plan& plan, NodeId node);

// Inputs the rewards of the rounds so far; output the number of groups still missing, a scalar.
std::unique_ptr<Node> make_refill_node(const Plan& plan, NodeId node);

}  // namespace rlflow
