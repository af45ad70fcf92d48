// What the nodes offer to the engine: factories, and the facts that results depend on.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/contract/metric.h"
#include "runtime/contract/model_instance.h"
#include "runtime/contract/node.h"
#include "runtime/contract/payload.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// What a model is made from besides the plan.
struct ModelOrigin {
  std::uint64_t run_seed = 0;
  // Of a model that is the base of another: that one where it is in memory on the same group, to share its weights.
  const ModelInstance* adapted = nullptr;
};

// What the node library offers to the engine. The engine's tests supply a fake one.
class NodeLibrary {
 public:
  virtual ~NodeLibrary() = default;
  // Called once before anything of a run is written or executed: where it is kept, so that programs of others can be
  // shut out of it, and whether what stands outside is as the program says (examples of rewards). Throws
  // std::runtime_error naming file and line of what is not.
  virtual void prepare(const Plan& plan, const std::filesystem::path& run_dir) {
    static_cast<void>(plan);
    static_cast<void>(run_dir);
  }
  virtual std::unique_ptr<Node> make_node(const Plan& plan, NodeId node) = 0;
  // Loads or draws the weights of a plan model; throws std::runtime_error naming file, tensor and offset.
  virtual std::unique_ptr<ModelInstance> make_model(const Plan& plan, ModelId model, const ModelOrigin& origin) = 0;
  // A frozen copy of the model's parameters for a replica that does not share them, on the replica's device.
  virtual std::unique_ptr<ModelInstance> make_replica(const Plan& plan, ReplicaId replica, const ModelInstance& model) {
    return model.copy_for_replica(dtype_name(plan.replicas[replica.index()].dtype));
  }
  // Parses an artifact's bytes; throws std::runtime_error naming what is wrong.
  virtual PayloadPtr read_payload(Kind kind, std::span<const std::byte> bytes) = 0;
  // Response `index` of what a node gave, or of the batch that it read, for a person to look at; nullopt where neither
  // has responses. Throws std::runtime_error where there are fewer.
  virtual std::optional<Sample> sample_at(const Plan& plan, NodeId node, const std::vector<PayloadPtr>& inputs,
                                          const std::vector<PayloadPtr>& outputs, std::int64_t index) {
    static_cast<void>(plan), static_cast<void>(node), static_cast<void>(inputs);
    static_cast<void>(outputs), static_cast<void>(index);
    return std::nullopt;
  }
  // A scalar made by the engine for `prev(…, init=…)`.
  virtual PayloadPtr make_scalar(double value) = 0;
  // Called on a group's own thread before its first task: OpenMP threads, device, deterministic mode.
  virtual void enter_group(const PlanGroup& group) = 0;
  // What results depend on besides the program: libtorch version, CPU features, op versions. Recorded by a run.
  virtual std::map<std::string, std::string> environment() = 0;
  // Files a model or data declaration reads, relative to the root, for hashing at start.
  virtual std::vector<std::string> files_of(const Plan& plan) = 0;
};

}  // namespace rlflow
