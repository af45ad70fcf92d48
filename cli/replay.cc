// `rlflow replay RUN`: recorded tasks again, and whether their bits are the same.
#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/console/lines.h"
#include "cli/diagnostic_output.h"
#include "cli/json_output.h"
#include "cli/recorded_program.h"
#include "cli/run_folders.h"
#include "cli/run_library/load.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "compiler/names.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

struct ReplayOptions {
  std::string run;
  std::string task;
  std::string steps;
  std::optional<std::int64_t> sample;
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

nlohmann::json report_json(const ReplayRequest& request, const ReplayReport& report, bool external) {
  nlohmann::json object = {{"format", "rlflow.replay/1"},
                           {"verdict", verdict_name(report.verdict)},
                           {"external", external},
                           {"detail", report.detail},
                           {"notes", report.redone}};
  if (!request.steps) object["task"] = request.task;
  for (const ReplayedTask& task : report.tasks) {
    object["tasks"].push_back({{"task", task.task}, {"verdict", verdict_name(task.verdict)}, {"detail", task.detail}});
  }
  if (report.sample) {
    object["sample"] = {
        {"index", *request.sample}, {"prompt", report.sample->prompt}, {"response", report.sample->response}};
    if (report.sample->reward) object["sample"]["number"] = number_json(*report.sample->reward);
  }
  return object;
}

void print_task(const Plan& plan, const std::string& task, Verdict verdict, const std::string& detail) {
  std::cout << task << "  " << verdict_name(verdict);
  if (verdict == Verdict::differs && is_external(plan, task)) std::cout << " (external)";
  std::cout << (detail.empty() ? "" : ": " + printable(detail)) << "\n";
}

void print_text(const Plan& plan, const ReplayRequest& request, const ReplayReport& report) {
  for (const ReplayedTask& task : report.tasks) print_task(plan, task.task, task.verdict, task.detail);
  if (!request.steps) print_task(plan, request.task, report.verdict, report.detail);
  for (const std::string& line : report.redone) std::cout << "  " << line << "\n";
  if (request.steps) {
    std::cout << counted(static_cast<std::int64_t>(report.tasks.size()), "task") << "  " << verdict_name(report.verdict)
              << "\n";
  }
  if (!report.sample) return;
  std::cout << "sample " << *request.sample << "  " << printable(report.sample->prompt) << " -> "
            << printable(report.sample->response);
  if (report.sample->reward) std::cout << "  [" << number_text(*report.sample->reward) << "]";
  std::cout << "\n";
}

// "3..7"
std::pair<Step, Step> range_of(const std::string& text) {
  std::size_t dots = text.find("..");
  std::pair<Step, Step> range;
  auto number = [](std::string_view digits, Step& value) {
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 0;
  };
  std::string_view all(text);
  bool fine = dots != std::string::npos && number(all.substr(0, dots), range.first) &&
              number(all.substr(dots + 2), range.second) && range.first <= range.second;
  if (fine) return range;
  throw StoreError(ExitCode::could_not_answer, "R0402", "`" + text + "` is no range of steps", "write 3..7");
}

ReplayRequest request_of(const ReplayOptions& options, const RecordedRun& recorded) {
  ReplayRequest request;
  request.task = options.task.empty() ? recorded.bundle : options.task;
  if (!options.steps.empty()) request.steps = range_of(options.steps);
  request.sample = options.sample;
  if (request.task.empty() && !request.steps) {
    throw StoreError(ExitCode::could_not_answer, "R0402", "which task?", "give --task NODE:STEP or --steps A..B");
  }
  return request;
}

ExitCode replay_tasks(const ReplayOptions& options, const Session& session) {
  const std::filesystem::path run_dir = find_run(options.run, runs_folder(options.runs_dir));
  RecordedRun recorded = RunReader(run_dir).run();
  ReplayRequest request = request_of(options, recorded);
  request.run_dir = run_dir;
  RunApi& api = run_api();
  Cluster cluster = api.cluster();
  Plan plan = recorded_plan(recorded, {}, &cluster);
  ReplayReport report;
  Outcome outcome = api.replay(plan, request, report);
  const bool external = !request.steps && is_external(plan, request.task);
  if (external && report.verdict == Verdict::differs) {
    outcome.help = "a program outside gave other rewards this time; the stored ones stand and are used";
  }
  if (options.json) {
    print_json(report_json(request, report, external));
  } else {
    print_text(plan, request, report);
  }
  print_outcome(outcome, &plan, session);
  return outcome.code;
}

}  // namespace

Action declare_replay(CLI::App& app, const Session& session) {
  auto options = std::make_shared<ReplayOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  auto* task = app.add_option("--task", options->task, "the task: node and step, e.g. traj:42 (of a bundle: its own)")
                   ->option_text("NODE:STEP");
  app.add_option("--steps", options->steps, "every finished task of these steps, both included")
      ->option_text("A..B")
      ->excludes(task);
  app.add_option("--sample", options->sample, "show response I of the task's batch, as it was made now")
      ->check(CLI::NonNegativeNumber)
      ->option_text("I");
  app.add_flag("--json", options->json, "print one JSON object, rlflow.replay/1");
  app.footer(app.get_footer() + "\nExit code 0: identical; 1: differs; 2: cannot be answered, and why.");
  return [options, &session] { return replay_tasks(*options, session); };
}

}  // namespace rlflow
