// dlopen of the run library, as cli/run_library does it.
#include "tests/end_to_end/replay_in_process.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/recorded_program.h"
#include "tests/end_to_end/run_inspection.h"

namespace rlflow::testing {

RunApi& opened_run_api() {
  static RunApi* api = [] {
    setenv("OMP_WAIT_POLICY", "passive", 0);
    void* library = dlopen(RLFLOW_BINARY_DIR "/librlflow_run.so", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    auto open = reinterpret_cast<OpenRunApi>(dlsym(library, kRunApiSymbol));
    RunApi* opened = open != nullptr ? open(kRunApiVersion) : nullptr;
    if (opened == nullptr) throw std::runtime_error("librlflow_run.so has another version");
    return opened;
  }();
  return *api;
}

Plan plan_of(const std::string& run_dir) {
  Cluster cluster = opened_run_api().cluster();
  return recorded_plan(RunReader(run_dir).run(), {}, &cluster);
}

std::vector<DoneTask> done_tasks(const std::string& run_dir, const Plan& plan) {
  std::vector<DoneTask> tasks;
  for (const auto& row : query(run_dir, "SELECT node, step FROM tasks WHERE state='done' ORDER BY id")) {
    for (const PlanNode& node : plan.nodes) {
      if (node.name == row[0] && node.op != "checkpoint") tasks.push_back({row[0] + ":" + row[1], node.op, node.name});
    }
  }
  return tasks;
}

Verdict replay(const Plan& plan, const std::string& run_dir, const std::string& task, std::string& detail) {
  ReplayReport report;
  Outcome outcome = opened_run_api().replay(plan, {run_dir, task}, report);
  detail = report.detail.empty() ? outcome.message : report.detail;
  EXPECT_EQ(outcome.code == ExitCode::yes, report.verdict == Verdict::identical) << task << ": " << detail;
  return report.verdict;
}

}  // namespace rlflow::testing
