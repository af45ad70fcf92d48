// Models and replica copies.
#include "runtime/engine/model_states.h"

#include "runtime/contract/check.h"
#include "runtime/store/store_error.h"

namespace rlflow {

ModelStates::ModelStates(const Plan& plan, const StepGraph& graph, std::uint64_t seed, NodeLibrary& library,
                         Executor& executor)
    : plan_(plan), graph_(graph), library_(library), models_(plan.models.size()) {
  for (std::size_t i = 0; i < models_.size(); ++i) {
    executor.run_on(plan.models[i].group, [&] {
      const ModelId adapted = plan.models[i].base_of;
      const bool near = adapted.valid() && plan.models[adapted.index()].group == plan.models[i].group;
      models_[i].instance =
          library.make_model(plan, ModelId(i), {seed, near ? models_[adapted.index()].instance.get() : nullptr});
      models_[i].weights = models_[i].instance->weights_digest();
      publish_copies(ModelId(i), 0);
    });
  }
}

void ModelStates::advance(ModelId model, Version version, const WeightsDigest& weights) {
  State& state = models_[model.index()];
  state.version = version;
  state.weights = weights;
  publish_copies(model, version);
  state.clean = true;
}

void ModelStates::publish_copies(ModelId model, Version version) {
  const State& state = models_[model.index()];
  for (ReplicaId id : graph_.copies_of(model, version)) {
    const PlanReplica& replica = plan_.replicas[id.index()];
    std::shared_ptr<ModelInstance> copy = library_.make_replica(plan_, id, *state.instance);
    bool comparable = replica.dtype == plan_.models[model.index()].dtype;
    if (comparable && copy->weights_digest() != state.weights) {
      throw StoreError(ExitCode::store_damaged, "R0302",
                       "the copy of `" + plan_.models[model.index()].name + "` v" + std::to_string(version) + " in `" +
                           replica.name + "` has other weights than the model",
                       "resume the run; if it happens again the memory of this machine is suspect");
    }
    std::lock_guard lock(mutex_);
    copies_[id][version] = std::move(copy);
  }
}

ModelInstance* ModelStates::instance_for(NodeId node, Step step) const {
  const PlanNode& plan_node = plan_.nodes[node.index()];
  if (!plan_node.model.valid()) return nullptr;
  Version version = graph_.version_read(node, step);
  if (!graph_.reads_copy(node)) {
    RLFLOW_CHECK(models_[plan_node.model.index()].version == version,
                 plan_node.name + " would read another version of its model");
    return models_[plan_node.model.index()].instance.get();
  }
  std::lock_guard lock(mutex_);
  auto replica = copies_.find(plan_node.replica);
  RLFLOW_CHECK(replica != copies_.end() && replica->second.contains(version),
               plan_node.name + " reads a version that was not published");
  return replica->second.at(version).get();
}

std::optional<Version> ModelStates::newest_copy(ReplicaId replica, Version most) const {
  std::lock_guard lock(mutex_);
  auto versions = copies_.find(replica);
  if (versions == copies_.end()) return std::nullopt;
  auto after = versions->second.upper_bound(most);
  if (after == versions->second.begin()) return std::nullopt;
  return std::prev(after)->first;
}

void ModelStates::forget_copies_before(Step step) {
  std::lock_guard lock(mutex_);
  for (auto& [replica, versions] : copies_) {
    Version oldest = graph_.oldest_version_read(plan_.replicas[replica.index()].model, step);
    versions.erase(versions.begin(), versions.lower_bound(oldest));
  }
}

}  // namespace rlflow
