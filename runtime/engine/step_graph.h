// Which tasks does a step have, and what must each of them wait for? Facts of the Plan, and of a run those versions
// that the Plan leaves open.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/contract/plan.h"
#include "runtime/contract/run_api.h"

namespace rlflow {

inline constexpr std::int32_t kWholeBatch = -1;

// A task in memory; its slot is 0, since batches are not sharded yet. With a group it is the early work on that prompt
// group alone, which is of no record: the whole task takes its result over.
struct TaskId {
  NodeId node;
  Step step = 0;
  std::int32_t group = kWholeBatch;
  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

// What a Plan asks for and this engine cannot execute, as an Outcome that names the node; nullopt if it can.
std::optional<Outcome> refuse_plan(const Plan& plan);

// Answers from the Plan, which must outlive it and must not be refused. Any thread may ask.
// "Versioned" is a model that an update node trains: its version k is made by step k. Every other model stays at 0.
class StepGraph {
 public:
  explicit StepGraph(const Plan& plan);

  bool due(NodeId node, Step step) const;      // has a task in that step
  bool skipped(NodeId node, Step step) const;  // `from` is later: the task is skipped
  bool in_block(NodeId node) const;            // stands inside an `every` block
  bool is_update(NodeId node) const;
  bool is_checkpoint(NodeId node) const;
  bool keeps_last_value(NodeId node) const;  // read by a later step, through prev or as a carried output

  bool versioned(ModelId model) const { return updates_[model.index()].valid(); }
  NodeId update_of(ModelId model) const { return updates_[model.index()]; }
  std::vector<ModelId> versioned_models() const;
  // The version that a task reads (update: starts from); 0 for a model that is not versioned or no model. Of a task
  // that chooses and has not yet: the oldest that it may choose.
  Version version_read(NodeId node, Step step) const;
  bool reads_copy(NodeId node) const;  // through a replica that does not share its model's weights
  // Replicas, not in place, of which some task reads a copy of exactly this version.
  std::vector<ReplicaId> copies_of(ModelId model, Version version) const;
  // With `lag <= L` the tasks of a step that generate through a replica read one version between v(k-1-L) and v(k-1),
  // which the first of them to start chooses. What a run has recorded is chosen before anything is asked.
  bool chooses(NodeId node) const;
  bool has_chosen(NodeId node, Step step) const;
  bool may_choose(NodeId node, Step step, Version version) const;
  void choose(NodeId node, Step step, Version version);  // one that it may
  // The oldest version of `model` that a task of step `first` or later may read.
  Version oldest_version_read(ModelId model, Step first) const;

  // Tasks of the same or an earlier step that must end first; those before the run's first step included.
  std::vector<TaskId> prerequisites(NodeId node, Step step) const;
  Step lag() const { return lag_; }  // steps in flight beyond the oldest

 private:
  std::optional<TaskId> newest_before(NodeId node, Step step) const;
  bool reads_live(NodeId node, ModelId model) const;

  const Plan& plan_;
  std::vector<NodeId> updates_;         // by model
  std::vector<bool> keeps_last_value_;  // by node
  Step lag_ = 0;
  struct Choices {
    std::mutex mutex;
    std::map<std::pair<ReplicaId, Step>, Version> versions;
  };
  std::unique_ptr<Choices> choices_ = std::make_unique<Choices>();
};

}  // namespace rlflow
