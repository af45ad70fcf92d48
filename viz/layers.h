// On which row of the picture does each box stand?
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/pipeline.h"

namespace rlflow {

struct Layers {
  std::vector<std::int32_t> nodes;     // one a node of the pipeline: the longest path of data edges to it
  std::vector<std::int32_t> models;    // beside the update that writes it, else beside its first reader
  std::vector<std::int32_t> replicas;  // beside its rollout
};

// What stands in `every` blocks comes below all that runs each step.
Layers layers_of(const Pipeline& pipeline);

bool is_update(const FlowNode& node);

}  // namespace rlflow
