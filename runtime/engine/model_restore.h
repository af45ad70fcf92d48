// How does a model come back to one of its versions? A checkpoint, then the recorded updates done again.
#pragma once

#include <functional>
#include <string>

#include "runtime/contract/node_library.h"
#include "runtime/contract/run_api.h"
#include "runtime/engine/step_graph.h"
#include "runtime/store/artifact_store.h"
#include "runtime/store/database.h"

namespace rlflow {

// What recovery, replay and export read from.
struct RecordedParts {
  const Plan& plan;
  const StepGraph& graph;
  std::uint64_t seed;
  Database& database;
  ArtifactStore& artifacts;
  NodeLibrary& library;
  // Of a fork: versions up to this one were made by its parent, maybe under another program, so they are loaded from
  // checkpoints and never redone.
  Version inherited = -1;
};

// Called at the checkpoint and after each update that was done again.
using Reached = std::function<void(Version version, const WeightsDigest& weights)>;

// Brings `instance`, made by NodeLibrary::make_model just now, to `version`: checkpoint `from` (0: as made), then
// updates from+1 … version from their stored inputs, without any rollout, comparing the weights digest at each.
// Runs on the calling thread, which must be the group's. StoreError R0209 names the version, and the first tensor
// that differs where a checkpoint of it exists; R0207 a damaged input; R0216 one that was collected; R0219 a
// version that only a fork's parent can give.
void restore_model(const RecordedParts& parts, ModelId model, ModelInstance& instance, Version from, Version version,
                   const Reached& reached);

// Parses a recorded artifact of kind `kind`; its hash is checked. StoreError R0216 says that `what` was collected.
PayloadPtr read_recorded(const RecordedParts& parts, Kind kind, const Digest& digest, const std::string& what);
// The kind that input `port` of a node takes.
Kind input_kind(const Plan& plan, NodeId node, std::size_t port);
// Throws StoreError R0208 naming the first file that is not as it was when the run began.
void require_unchanged_files(const RecordedParts& parts);

}  // namespace rlflow
