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

}  // namespace rlflow
