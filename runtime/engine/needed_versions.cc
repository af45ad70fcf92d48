// Oldest versions by model.
#include "runtime/engine/needed_versions.h"

namespace rlflow {

std::map<std::string, Version> needed_versions(const Plan& plan, const StepGraph& graph, Step first_unfinished) {
  std::map<std::string, Version> needed;
  for (ModelId model : graph.versioned_models()) {
    needed[plan.models[model.index()].name] = graph.oldest_version_read(model, first_unfinished);
  }
  return needed;
}

Version oldest_to_restore(const Plan& plan, const StepGraph& graph, ModelId model, Version head, Step committed,
                          const std::function<bool(TaskId)>& answered) {
  Version oldest = head;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    NodeId node(i);
    if (plan.nodes[i].model != model || !graph.reads_copy(node)) continue;
    for (Step step = committed + 1; step <= plan.stop_after; ++step) {
      Version version = graph.version_read(node, step);
      if (version < oldest && graph.due(node, step) && !graph.skipped(node, step) && !answered({node, step}))
        oldest = version;
    }
  }
  return oldest;
}

}  // namespace rlflow
