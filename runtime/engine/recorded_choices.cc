// The versions that tasks have read are rows of their own.
#include "runtime/engine/recorded_choices.h"

#include "runtime/store/record_queries.h"

namespace rlflow {

void choose_as_recorded(Database& database, const Plan& plan, StepGraph& graph) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const NodeId node(i);
    if (!graph.chooses(node)) continue;
    for (const auto& [step, version] : versions_read(database, plan.nodes[i].name)) {
      if (graph.may_choose(node, step, version)) graph.choose(node, step, version);
    }
  }
}

}  // namespace rlflow
