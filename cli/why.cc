// `rlflow why RUN TASK`: why is a task as it is? What it was made from, its attempts, and who reads it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/console/lines.h"
#include "cli/json_output.h"
#include "cli/run_folders.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "compiler/names.h"
#include "runtime/store/run_reader.h"
#include "runtime/store/store_error.h"
#include "runtime/store/task_name.h"

namespace rlflow {
namespace {

using nlohmann::json;

struct WhyOptions {
  std::string run;
  std::string task;
  std::string runs_dir;
  bool json = false;
};

std::string attempt_text(const RecordedAttempt& attempt, bool live) {
  std::string text = "attempt " + std::to_string(attempt.number) + " (start " + std::to_string(attempt.epoch) + ") ";
  if (attempt.ended.empty()) return text + (live ? "is running" : "was lost with its process");
  if (attempt.ended == "lost") return text + "was lost with its process, which is no failure";
  text += attempt.ended + " after " + number_text(attempt.milliseconds) + " ms";
  return attempt.detail.empty() ? text : text + ": " + printable(attempt.detail);
}

// One sentence for the state.
std::string reason(const TaskHistory& history, const RecordedRun& run) {
  const std::string& state = history.task.state;
  if (state == "done") return "done: its outputs are recorded under its key, and no resume runs it again";
  if (state == "skipped") return "skipped: the `from` of its node is later than this step";
  if (state == "cancelled") return "cancelled: the program, as it was resumed, no longer asked for it";
  if (state == "failed") return "failed for good (`on_failure = fail`): " + printable(history.task.error);
  if (run.state == RunState::running) return "admitted: it runs, or waits for what it reads";
  if (history.task.failures > 0) return "unfinished after a failure: " + printable(history.task.error);
  return "unfinished: the run is " + std::string(run_state_name(run.state)) + "; a resume runs it";
}

std::string weights_of(const RunReader& reader, const TaskHistory& history) {
  for (const RecordedVersion& version : reader.versions(history.model)) {
    if (version.version == history.version) return hex(version.weights);
  }
  return {};
}

json history_json(const RunReader& reader, const RecordedRun& run, const TaskHistory& history) {
  json attempts = json::array();
  for (const RecordedAttempt& attempt : history.attempts) {
    attempts.push_back({{"attempt", attempt.number},
                        {"epoch", attempt.epoch},
                        {"ended", attempt.ended},
                        {"milliseconds", attempt.milliseconds},
                        {"detail", attempt.detail}});
  }
  json inputs = json::array();
  for (const RecordedInput& input : history.inputs) {
    inputs.push_back({{"port", input.port},
                      {"from", input.source},
                      {"from_port", input.source_port},
                      {"kind", input.kind},
                      {"digest", hex(input.digest)},
                      {"collected", input.collected}});
  }
  json model = nullptr;
  if (!history.model.empty()) {
    model = {{"model", history.model}, {"version", history.version}, {"weights", weights_of(reader, history)}};
  }
  return {{"format", "rlflow.why/1"},
          {"run", run.name},
          {"task", to_text(TaskName{history.task.node, history.task.step, history.task.slot})},
          {"state", history.task.state},
          {"reason", reason(history, run)},
          {"key", history.task.key ? json(hex(*history.task.key)) : json(nullptr)},
          {"seed", run.seed},
          {"attempts", attempts},
          {"inputs", inputs},
          {"model", model},
          {"decisions", history.decisions},
          {"read_by", history.read_by}};
}

void print_text(const RunReader& reader, const RecordedRun& run, const TaskHistory& history) {
  std::cout << to_text(TaskName{history.task.node, history.task.step, history.task.slot}) << "  "
            << reason(history, run) << "\n";
  for (const RecordedInput& input : history.inputs) {
    std::cout << (input.port < 0 ? "carried" : "input " + std::to_string(input.port)) << "  " << input.kind << " of "
              << input.source << "  " << hex(input.digest) << (input.collected ? "  (thrown away by gc)" : "") << "\n";
  }
  if (!history.model.empty()) {
    std::cout << "model    " << history.model << " v" << history.version << "  " << weights_of(reader, history) << "\n";
  }
  for (const auto& [name, value] : history.decisions) std::cout << "decided  " << name << " = " << value << "\n";
  for (const RecordedAttempt& attempt : history.attempts) {
    std::cout << attempt_text(attempt, run.state == RunState::running) << "\n";
  }
  if (history.task.key) std::cout << "key      " << hex(*history.task.key) << "  (with seed " << run.seed << ")\n";
  std::string readers;
  for (const std::string& reader_name : history.read_by) readers += (readers.empty() ? "" : ", ") + reader_name;
  if (!readers.empty()) std::cout << "read by  " << readers << "\n";
}

StoreError unknown_task(const RunReader& reader, const RecordedRun& run, const TaskName& task) {
  std::vector<std::string> nodes;
  for (const RecordedTask& recorded : reader.tasks(std::max<Step>(1, run.committed))) nodes.push_back(recorded.node);
  bool node_exists = std::find(nodes.begin(), nodes.end(), task.node) != nodes.end();
  std::vector<std::string> close = close_names(task.node, nodes);
  std::string help = node_exists || close.empty()
                         ? "step " + std::to_string(run.committed) + " is the last that is committed"
                         : "did you mean " + quoted_list(close) + "?";
  return StoreError(ExitCode::could_not_answer, "R0402",
                    "no task `" + to_text(task) + "` is recorded: it was never admitted", help);
}

ExitCode why(const WhyOptions& options) {
  auto name = task_name_from_text(options.task);
  if (!name) {
    throw StoreError(ExitCode::could_not_answer, "R0402", "`" + options.task + "` is not a task",
                     "write node:step, e.g. traj:42");
  }
  RunReader reader(find_run(options.run, runs_folder(options.runs_dir)));
  RecordedRun run = reader.run();
  auto history = reader.history(name->node, name->step, name->slot);
  if (!history) throw unknown_task(reader, run, *name);
  if (options.json) {
    print_json(history_json(reader, run, *history));
  } else {
    print_text(reader, run, *history);
  }
  return ExitCode::yes;
}

}  // namespace

Action declare_why(CLI::App& app, const Session&) {
  auto options = std::make_shared<WhyOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  app.add_option("task", options->task, "the task: node and step, e.g. traj:42")->required();
  app.add_flag("--json", options->json, "print one JSON object, rlflow.why/1");
  return [options] { return why(*options); };
}

}  // namespace rlflow
