// What have tasks handed to their successors? Payloads in memory, for as long as a later task may read them.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runtime/contract/payload.h"
#include "runtime/engine/step_graph.h"

namespace rlflow {

// Not thread-safe: of the serial part of a run.
class ValueStore {
 public:
  using Outputs = std::vector<PayloadPtr>;
  void put(TaskId task, Outputs outputs) { values_[task.node][task.step] = std::move(outputs); }

  const Outputs* at(NodeId node, Step step) const {
    auto found = values_.find(node);
    if (found == values_.end()) return nullptr;
    auto outputs = found->second.find(step);
    return outputs == found->second.end() ? nullptr : &outputs->second;
  }
  // The newest step before `step` in which the node gave a value.
  std::optional<Step> newest_before(NodeId node, Step step) const {
    auto found = values_.find(node);
    if (found == values_.end()) return std::nullopt;
    auto next = found->second.lower_bound(step);
    if (next == found->second.begin()) return std::nullopt;
    return std::prev(next)->first;
  }
  // Everything up to `step` has been read, but for the newest value of nodes that a later step reads.
  void forget_through(Step step, const StepGraph& graph) {
    for (auto& [node, by_step] : values_) {
      auto end = by_step.upper_bound(step);
      if (end != by_step.begin() && graph.keeps_last_value(node)) --end;
      by_step.erase(by_step.begin(), end);
    }
  }

 private:
  std::map<NodeId, std::map<Step, Outputs>> values_;
};

}  // namespace rlflow
