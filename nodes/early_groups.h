// What of a batch has been done already, prompt group by prompt group, while others were generated?
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "nodes/batches.h"
#include "runtime/contract/node.h"

namespace rlflow {

struct EarlyNumbers {
  std::vector<float> values;              // [B]; 0 where nothing is known yet
  std::vector<std::size_t> missing;       // responses without a value
  std::vector<const TaskResult*> groups;  // the early results taken over, in order of their groups
};

// The first output of each early result, a number for each response of its group.
EarlyNumbers early_numbers(const BatchDescriptor& batch, const std::vector<std::shared_ptr<const TaskResult>>& early);

}  // namespace rlflow
