// Which weights does a task see? The models in memory with their versions, and the copies that replicas read.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/contract/node_library.h"
#include "runtime/contract/run_api.h"
#include "runtime/engine/executor.h"
#include "runtime/engine/step_graph.h"

namespace rlflow {

// Owns the instances. The schedule guarantees that no update runs beside a reader of the same instance; the map of
// copies is guarded here, since one group publishes what another reads.
class ModelStates {
 public:
  // Loads every model on its group's thread; throws what NodeLibrary::make_model throws.
  ModelStates(const Plan& plan, const StepGraph& graph, std::uint64_t seed, NodeLibrary& library, Executor& executor);

  ModelInstance& live(ModelId model) const { return *models_[model.index()].instance; }
  Version version(ModelId model) const { return models_[model.index()].version; }
  const WeightsDigest& weights(ModelId model) const { return models_[model.index()].weights; }
  bool clean(ModelId model) const { return models_[model.index()].clean; }

  // The update that makes the next version began: until `advance` the weights belong to no version.
  void begin_update(ModelId model) { models_[model.index()].clean = false; }
  // The live weights are `version` now, with that digest; copies that replicas read are made.
  // On the model's group's thread. A copy with other weights than its model ends the run (StoreError R0302).
  void advance(ModelId model, Version version, const WeightsDigest& weights);

  // What a node reads or updates in a step; null for nodes without a model.
  ModelInstance* instance_for(NodeId node, Step step) const;
  // The newest version, at most `most`, of which the replica has a copy; on any thread.
  std::optional<Version> newest_copy(ReplicaId replica, Version most) const;
  // Forgets copies older than `oldest_version_read` of the step; on any thread.
  void forget_copies_before(Step step);

 private:
  struct State {
    std::unique_ptr<ModelInstance> instance;
    Version version = 0;
    WeightsDigest weights;
    bool clean = true;
  };
  void publish_copies(ModelId model, Version version);

  const Plan& plan_;
  const StepGraph& graph_;
  NodeLibrary& library_;
  std::vector<State> models_;
  mutable std::mutex mutex_;
  // Shared: a version that was skipped or held is the same copy as its parent. Guarded by mutex_.
  std::map<ReplicaId, std::map<Version, std::shared_ptr<ModelInstance>>> copies_;
};

}  // namespace rlflow
