// Which responses do all inputs of a node speak of? Where a prompt group was dropped, what was computed of the whole
// batch is cut down to what is left.
#pragma once

#include <memory>
#include <vector>

#include "nodes/batches.h"
#include "runtime/contract/node.h"

namespace rlflow {

// The responses of the batch that belong to other groups than `dropped`; nothing else changes.
BatchPtr without_groups(const BatchDescriptor& batch, const std::vector<std::int32_t>& dropped);

// Trajectories and numbers cut down to the groups that all of them have. Where all have the same, which is always so
// unless a group was dropped, the inputs themselves.
TaskInputs cut_to_common_rows(const TaskInputs& inputs);

// `inner`, given cut_to_common_rows of its inputs.
std::unique_ptr<Node> with_common_rows(std::unique_ptr<Node> inner);

}  // namespace rlflow
