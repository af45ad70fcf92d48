// The nodes take and take_examples: the next rows of a data set, tokenised.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Both carry a Cursor from step to step and keep nothing else. A row that cannot be tokenised fails the task, naming
// data set and row.
std::unique_ptr<Node> make_take_node(const Plan& plan, NodeId node);  // outputs Prompts, Cursor
std::unique_ptr<Node> make_take_examples_node(const Plan& plan, NodeId node);
std::unique_ptr<Node> make_take_pairs_node(const Plan& plan, NodeId node);  // outputs Examples, Cursor

}  // namespace rlflow
