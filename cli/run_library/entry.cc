// The one exported function of librlflow_run.so: engine and nodes behind the RunApi.
#include <malloc.h>

#include <memory>

#include "nodes/generate_text.h"
#include "nodes/plan_access.h"
#include "nodes/run_library.h"
#include "runtime/contract/run_api.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/export_task.h"
#include "runtime/engine/fork.h"
#include "runtime/engine/outcomes.h"
#include "runtime/engine/pause_flag.h"

namespace rlflow {
namespace {

// Memory touched for the first time is slow on virtual machines, so freed buffers stay with the process
// instead of going back to the system at every step.
void keep_freed_memory() {
  constexpr int kLimit = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kLimit);
  mallopt(M_TRIM_THRESHOLD, kLimit);
}

class ProcessRunApi final : public RunApi {
 public:
  ProcessRunApi() { keep_freed_memory(); }

  Cluster cluster() override { return usable_machine(); }

  Outcome run(const Plan& plan, const RunRequest& request, RunObserver& observer) override {
    return run_plan(plan, request, library(), observer, pause_);
  }

  Outcome replay(const Plan& plan, const ReplayRequest& request, ReplayReport& report) override {
    return replay_task(plan, request, library(), report);
  }

  Outcome export_model(const Plan& plan, const ExportRequest& request) override {
    return rlflow::export_model(plan, request, library());
  }

  Outcome export_task(const Plan& plan, const TaskExportRequest& request) override {
    return rlflow::export_task(plan, request, library());
  }

  Outcome fork(const Plan& parent_plan, const Plan& plan, const ForkRequest& request) override {
    return fork_run(parent_plan, plan, request, library());
  }

  Outcome generate(const Plan* plan, const GenerateRequest& request, const TextObserver& observer,
                   GeneratedTexts& texts) override {
    pause_.clear();
    bool stopped = false;
    const auto answer = [&](const ModelInstance& model, const std::filesystem::path& folder) {
      stopped = !generate_text(
          model, folder, request, observer, [this] { return pause_.requested(); }, texts);
    };
    const std::filesystem::path& folder = request.source.folder;
    NodeLibrary& nodes = library();
    Outcome outcome = !folder.empty() ? caught([&] {
      answer(*load_language_model(folder, request.threads), folder);
      return Outcome();
    })
                                      : use_model(*plan, request.source, nodes,
                                                  [&](ModelId id, Version version, const ModelInstance& model) {
                                                    texts.version = version;
                                                    answer(model, model_folder(*plan, id));
                                                  });
    if (stopped) outcome = {ExitCode::interrupted, {}, "stopped", {}, {}};
    return outcome;
  }

  void request_pause() override { pause_.request(); }

 private:
  // Made on first use: it starts libtorch.
  NodeLibrary& library() {
    if (!library_) library_ = make_run_library();
    return *library_;
  }

  PauseFlag pause_;
  std::unique_ptr<NodeLibrary> library_;
};

}  // namespace
}  // namespace rlflow

extern "C" __attribute__((visibility("default"))) rlflow::RunApi* rlflow_open_run_api(int version) {
  if (version != rlflow::kRunApiVersion) return nullptr;
  static rlflow::ProcessRunApi api;
  return &api;
}
