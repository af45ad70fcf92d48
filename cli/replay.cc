// `rlflow replay RUN --task ID`: one recorded task again, and whether its bits are the same.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/diagnostic_output.h"
#include "cli/recorded_program.h"
#include "cli/run_folders.h"
#include "cli/run_library/load.h"
#include "cli/verb.h"

namespace rlflow {
namespace {

struct ReplayOptions {
  std::string run;
  std::string task;
  std::string runs_dir;
  bool json = false;
};

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::identical: return "identical";
    case Verdict::differs: return "differs";
    case Verdict::cannot: return "cannot";
  }
  return "?";
}

// Whether the task is judged by a program of the user's: what it said is a recorded fact, not a function of the inputs.
bool is_external(const Plan& plan, const std::string& task) {
  const std::string name = task.substr(0, task.find(':'));
  for (const PlanNode& node : plan.nodes) {
    if (node.name == name && node.reward.valid()) return plan.rewards[node.reward.index()].source == "exec";
  }
  return false;
}

void print_json(const ReplayOptions& options, const ReplayReport& report, bool external) {
  nlohmann::json object = {
      {"format", "rlflow.replay/1"}, {"task", options.task},    {"verdict", verdict_name(report.verdict)},
      {"external", external},        {"detail", report.detail}, {"notes", report.redone}};
  std::cout << object.dump() << "\n";
}

void print_text(const ReplayOptions& options, const ReplayReport& report, bool external) {
  std::cout << options.task << "  " << verdict_name(report.verdict);
  if (external && report.verdict == Verdict::differs) std::cout << " (external)";
  if (!report.detail.empty()) std::cout << ": " << report.detail;
  std::cout << "\n";
  for (const std::string& line : report.redone) std::cout << "  " << line << "\n";
}

ExitCode replay_task(const ReplayOptions& options, const Session& session) {
  ReplayRequest request;
  request.run_dir = find_run(options.run, runs_folder(options.runs_dir));
  request.task = options.task;
  RecordedRun recorded = RunReader(request.run_dir).run();
  RunApi& api = run_api();
  Cluster cluster = api.cluster();
  Plan plan = recorded_plan(recorded, {}, &cluster);
  ReplayReport report;
  Outcome outcome = api.replay(plan, request, report);
  const bool external = is_external(plan, options.task);
  if (external && report.verdict == Verdict::differs) {
    outcome.help = "a program outside gave other rewards this time; the stored ones stand and are used";
  }
  if (options.json) {
    print_json(options, report, external);
  } else {
    print_text(options, report, external);
  }
  print_outcome(outcome, &plan, session);
  return outcome.code;
}

}  // namespace

Action declare_replay(CLI::App& app, const Session& session) {
  auto options = std::make_shared<ReplayOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  app.add_option("--task", options->task, "the task: node and step, e.g. traj:42")
      ->required()
      ->option_text("NODE:STEP");
  app.add_flag("--json", options->json, "one JSON object");
  return [options, &session] { return replay_task(*options, session); };
}

}  // namespace rlflow
