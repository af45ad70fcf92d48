// What a run left in its store, as text that two runs can be compared by.
#include "tests/runtime/run_trace.h"

#include "runtime/store/run_reader.h"

namespace rlflow::testing {

std::map<std::string, std::string> trace_of(const std::filesystem::path& run_dir) {
  RunReader reader(run_dir);
  std::map<std::string, std::string> trace;
  for (const RecordedVersion& version : reader.versions({})) {
    trace[version.model + " v" + std::to_string(version.version)] = version.outcome + " " + hex(version.weights);
  }
  RecordedRun run = reader.run();
  for (Step step = 0; step <= run.total; ++step) {
    for (const RecordedTask& task : reader.tasks(step)) {
      std::string name = task.node + ":" + std::to_string(step);
      trace[name] = task.state;
      if (task.key) trace[name + " key"] = hex(*task.key);
      for (const RecordedOutput& output : task.outputs) {
        trace[name + "/" + std::to_string(output.port)] = hex(output.digest);
      }
    }
  }
  for (const RecordedMetric& metric : reader.metrics()) {
    trace[metric.node + ":" + std::to_string(metric.step) + " " + metric.name] =
        std::to_string(metric.value) + " of " + metric.model + " v" + std::to_string(metric.version);
  }
  return trace;
}

RunRequest request_for(const std::filesystem::path& run_dir, bool resume) {
  RunRequest request;
  request.run_dir = run_dir;
  request.name = run_dir.filename().string();
  request.command = "rlflow run fake.rlflow";
  request.seed = 5;
  request.resume = resume;
  return request;
}

Outcome run_with(const Plan& plan, const RunRequest& request, FakeLibrary& library, Recording& recording,
                 EngineOptions options) {
  PauseFlag pause;
  return run_plan(plan, request, library, recording, pause, options);
}

Outcome run_fake(const Plan& plan, const std::filesystem::path& run_dir, bool resume, EngineOptions::Threads threads,
                 std::uint64_t seed) {
  FakeLibrary library;
  Recording recording;
  EngineOptions options;
  options.threads = threads;
  options.seed = seed;
  return run_with(plan, request_for(run_dir, resume), library, recording, options);
}

}  // namespace rlflow::testing
