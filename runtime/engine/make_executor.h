// Which executor do the options ask for?
#pragma once

#include <memory>

#include "runtime/contract/node_library.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/executor.h"

namespace rlflow {

// `plan` and `library` must outlive it: NodeLibrary::enter_group is called first on each group's thread.
inline std::unique_ptr<Executor> make_executor(const Plan& plan, NodeLibrary& library, const EngineOptions& options) {
  auto enter = [&plan, &library](GroupId group) { library.enter_group(plan.groups[group.index()]); };
  switch (options.threads) {
    case EngineOptions::Threads::tbb: return make_tbb_executor(plan.groups.size(), enter);
    case EngineOptions::Threads::plain: return make_thread_executor(plan.groups.size(), enter);
    case EngineOptions::Threads::seeded: return make_seeded_executor(options.seed, enter);
  }
  return nullptr;
}

}  // namespace rlflow
