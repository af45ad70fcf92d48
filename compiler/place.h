// Where each node runs: a device group for every node, and which replicas share their model's weights.
#pragma once

#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/pipeline.h"
#include "runtime/contract/cluster.h"

namespace rlflow {

struct PlacedPipeline {
  std::vector<GroupId> node_groups;     // one a node; invalid: a task of the host, without a model
  std::vector<bool> replicas_in_place;  // one a replica: same group, same dtype, staleness 0
};

// Weights of the rollout of step k are at most this many versions old: every - 1 + lag.
std::int64_t staleness(const Sync& sync);

// `cluster` may be null: then nothing is said about devices that are not there.
PlacedPipeline place(const Pipeline& pipeline, const Cluster* cluster, bool for_run, Diagnostics& diagnostics);

}  // namespace rlflow
