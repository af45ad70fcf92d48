// `rlflow show RUN`: what is recorded of a run, of one of its steps, of one of its tasks?
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/console/lines.h"
#include "cli/json_output.h"
#include "cli/run_folders.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "compiler/names.h"
#include "runtime/store/run_reader.h"
#include "runtime/store/store_error.h"
#include "runtime/store/task_name.h"

namespace rlflow {
namespace {

using nlohmann::json;

struct ShowOptions {
  std::string run;
  std::string runs_dir;
  std::optional<Step> step;
  std::string task;
  bool json = false;
};

json output_json(const RecordedOutput& output) {
  return {{"port", output.port}, {"kind", output.kind}, {"digest", hex(output.digest)}, {"bytes", output.bytes}};
}

json task_json(const RecordedTask& task) {
  json outputs = json::array();
  for (const RecordedOutput& output : task.outputs) outputs.push_back(output_json(output));
  return {{"task", to_text(TaskName{task.node, task.step, task.slot})},
          {"state", task.state},
          {"attempts", task.attempts},
          {"failures", task.failures},
          {"milliseconds", task.milliseconds},
          {"error", task.error},
          {"key", task.key ? json(hex(*task.key)) : json(nullptr)},
          {"outputs", outputs}};
}

std::vector<RecordedMetric> metrics_of_step(const RunReader& reader, Step step, const std::string& node = {}) {
  std::vector<RecordedMetric> found;
  for (const RecordedMetric& metric : reader.metrics(node)) {
    if (metric.step == step) found.push_back(metric);
  }
  return found;
}

json metrics_json(const std::vector<RecordedMetric>& metrics) {
  json object = json::object();
  for (const RecordedMetric& metric : metrics) object[metric.node + "." + metric.name] = number_json(metric.value);
  return object;
}

void print_metrics(const std::vector<RecordedMetric>& metrics) {
  Table table{{}, {}, {false, true}};
  for (const RecordedMetric& metric : metrics)
    table.rows.push_back({metric.node + "." + metric.name, number_text(metric.value)});
  std::cout << to_text(table, 2);
}

ExitCode show_task(const RunReader& reader, const ShowOptions& options) {
  std::optional<TaskName> name = task_name_from_text(options.task);
  if (!name) {
    throw StoreError(ExitCode::could_not_answer, "R0402", "`" + options.task + "` is not a task",
                     "write node:step, e.g. traj:42");
  }
  for (const RecordedTask& task : reader.tasks(name->step)) {
    if (TaskName{task.node, task.step, task.slot} != *name) continue;
    std::vector<RecordedMetric> metrics = metrics_of_step(reader, task.step, task.node);
    if (options.json) {
      print_json({{"format", "rlflow.show/1"}, {"task", task_json(task)}, {"metrics", metrics_json(metrics)}});
      return ExitCode::yes;
    }
    std::cout << options.task << "  " << task.state << "  " << number_text(task.milliseconds) << " ms, "
              << counted(task.attempts, "attempt") << ", " << counted(task.failures, "failure") << "\n";
    if (!task.error.empty()) std::cout << "last failure: " << task.error << "\n";
    if (task.key) std::cout << "key  " << hex(*task.key) << "\n";
    for (const RecordedOutput& output : task.outputs) {
      std::cout << "gives " << output.kind << "  " << hex(output.digest) << "  " << output.bytes << " bytes\n";
    }
    print_metrics(metrics);
    return ExitCode::yes;
  }
  throw StoreError(ExitCode::could_not_answer, "R0402", "there is no task `" + options.task + "` in this run",
                   "`show RUN --step K` lists the tasks of a step");
}

ExitCode show_step(const RunReader& reader, const ShowOptions& options) {
  std::vector<RecordedTask> tasks = reader.tasks(*options.step);
  if (tasks.empty()) {
    throw StoreError(ExitCode::could_not_answer, "R0402",
                     "there is no step " + std::to_string(*options.step) + " in this run",
                     "it has committed step " + std::to_string(reader.run().committed));
  }
  std::vector<RecordedMetric> metrics = metrics_of_step(reader, *options.step);
  if (options.json) {
    json list = json::array();
    for (const RecordedTask& task : tasks) list.push_back(task_json(task));
    print_json(
        {{"format", "rlflow.show/1"}, {"step", *options.step}, {"tasks", list}, {"metrics", metrics_json(metrics)}});
    return ExitCode::yes;
  }
  Table table{{"task", "state", "ms", "attempts", "gives"}, {}, {false, false, true, true}};
  for (const RecordedTask& task : tasks) {
    std::string gives;
    for (const RecordedOutput& output : task.outputs)
      gives += (gives.empty() ? "" : ", ") + output.kind + " " + hex(output.digest).substr(0, 8);
    table.rows.push_back({to_text(TaskName{task.node, task.step, task.slot}), task.state,
                          number_text(task.milliseconds), std::to_string(task.attempts), gives});
  }
  std::cout << to_text(table) << "\n";
  print_metrics(metrics);
  return ExitCode::yes;
}

json run_json(const RunReader& reader, const RecordedRun& run) {
  json versions = json::array();
  for (const RecordedVersion& version : reader.versions("")) {
    versions.push_back({{"model", version.model},
                        {"version", version.version},
                        {"outcome", version.outcome},
                        {"weights", hex(version.weights)},
                        {"checkpoint", version.checkpoint}});
  }
  json events = json::array();
  for (const RecordedEvent& event : reader.events()) {
    events.push_back({{"kind", event.kind},
                      {"task", event.task},
                      {"text", event.text},
                      {"wall_ms", event.wall_ms},
                      {"epoch", event.epoch}});
  }
  return {{"format", "rlflow.show/1"},
          {"name", run.name},
          {"state", run_state_name(run.state)},
          {"flow", run.flow},
          {"seed", run.seed},
          {"epoch", run.epoch},
          {"command", run.command},
          {"parent", run.parent},
          {"parent_step", run.parent_step},
          {"committed", run.committed},
          {"total", run.total},
          {"stop_reason", run.stop_reason},
          {"overrides", run.overrides},
          {"environment", run.environment},
          {"metrics", metrics_json(metrics_of_step(reader, run.committed))},
          {"versions", versions},
          {"events", events}};
}

std::string checkpoints_text(const RunReader& reader) {
  std::string text;
  for (const RecordedVersion& version : reader.versions("")) {
    if (version.checkpoint) text += (text.empty() ? "" : ", ") + version.model + " v" + std::to_string(version.version);
  }
  return text;
}

// The newest value of each evaluation, beside its first.
void print_evaluations(const RunReader& reader) {
  std::vector<RecordedMetric> accuracy = reader.metrics("", "accuracy");
  if (accuracy.empty()) return;
  std::vector<double> values;
  for (const RecordedMetric& metric : accuracy) values.push_back(metric.value);
  std::cout << "accuracy " << number_text(values.front()) << " at step " << accuracy.front().step << ", "
            << number_text(values.back()) << " at step " << accuracy.back().step << "\n";
}

ExitCode show_run(const RunReader& reader, const ShowOptions& options, const Session& session) {
  RecordedRun run = reader.run();
  if (options.json) {
    print_json(run_json(reader, run));
    return ExitCode::yes;
  }
  std::cout << run.name << "  " << run_state_name(run.state) << "  step " << run.committed << " of " << run.total
            << "  (seed " << run.seed << ", started " << run.epoch << (run.epoch == 1 ? " time)\n" : " times)\n");
  if (!run.stop_reason.empty()) std::cout << "stopped: " << run.stop_reason << "\n";
  std::cout << "command  " << run.command << "\n";
  if (!run.parent.empty()) std::cout << "forked after step " << run.parent_step << " of " << run.parent << "\n";
  std::string checkpoints = checkpoints_text(reader);
  if (!checkpoints.empty()) std::cout << "checkpoints  " << checkpoints << "\n";
  print_evaluations(reader);
  std::cout << "metrics of step " << run.committed << "\n";
  print_metrics(metrics_of_step(reader, run.committed));
  for (const RecordedEvent& event : reader.events()) {
    if (event.kind == "warning" || event.kind == "failure")
      std::cout << event.kind << " " << event.task << " " << event.text << "\n";
  }
  bool resumable =
      run.state == RunState::interrupted || run.state == RunState::paused || run.state == RunState::stopped;
  if (resumable) std::cout << "next  " << session.invoked_as << " resume " << run.name << "\n";
  return ExitCode::yes;
}

ExitCode show(const ShowOptions& options, const Session& session) {
  RunReader reader(find_run(options.run, runs_folder(options.runs_dir)));
  if (!options.task.empty()) return show_task(reader, options);
  if (options.step) return show_step(reader, options);
  return show_run(reader, options, session);
}

}  // namespace

Action declare_show(CLI::App& app, const Session& session) {
  auto options = std::make_shared<ShowOptions>();  // shared by the parser, which fills it, and the action
  add_run_argument(app, options->run, options->runs_dir);
  app.add_option("--step", options->step, "the tasks and metrics of one step")->option_text("K");
  app.add_option("--task", options->task, "one task with its key and outputs")->option_text("NODE:STEP");
  app.add_flag("--json", options->json, "print one JSON object, rlflow.show/1");
  return [options, &session] { return show(*options, session); };
}

}  // namespace rlflow
