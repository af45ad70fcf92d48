// Which code runs each node kind: one line a kind, beside the signatures that the compiler knows.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Throws std::runtime_error for a plan node that this build cannot make (a file that cannot be read, say).
using NodeFactory = std::unique_ptr<Node> (*)(const Plan& plan, NodeId node);

struct NodeKind {
  std::string_view signature;  // key in nodes/signatures
  NodeFactory make;
};

// Every kind with `runs = true` but checkpoint, which the engine does itself.
std::span<const NodeKind> node_kinds();

}  // namespace rlflow
