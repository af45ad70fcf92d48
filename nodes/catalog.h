// Which code runs each node kind: one line a kind, beside the signatures that the compiler knows.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "nodes/reward/reward.h"
#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Throws std::runtime_error for a plan node that this build cannot make (a file that cannot be read, say).
using NodeFactory = std::unique_ptr<Node> (*)(const Plan& plan, NodeId node);
// Of a kind that judges responses: a judge may be a program, which runs somewhere.
using JudgingNodeFactory = std::unique_ptr<Node> (*)(const Plan& plan, NodeId node, const RewardPlace& place);

struct NodeKind {
  std::string_view signature;  // key in nodes/signatures; "refill": a node that only the compiler writes
  std::variant<NodeFactory, JudgingNodeFactory> make;
  bool several_batches = false;  // its inputs speak of different batches, so it looks for common rows itself
};

// Every kind with `runs = true` but checkpoint, which the engine does itself.
std::span<const NodeKind> node_kinds();

}  // namespace rlflow
