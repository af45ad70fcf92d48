// `rlflow diff RUN RUN`: where do two runs differ? Program, seed, environment, the first task, metrics.
#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/console/lines.h"
#include "cli/json_output.h"
#include "cli/program_difference.h"
#include "cli/recorded_program.h"
#include "cli/run_divergence.h"
#include "cli/run_folders.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

using nlohmann::json;

struct DiffOptions {
  std::string left;
  std::string right;
  std::string runs_dir;
  bool json = false;
};

struct MetricPair {
  std::string name;
  double left = 0;
  double right = 0;
};

struct RunDifference {
  std::vector<Difference> program;
  std::string program_note;  // why the programs were not compared
  std::vector<Difference> environment;
  std::optional<Divergence> divergence;
  Step compared_to = 0;  // the last step that both have committed
  std::vector<MetricPair> metrics;
};

std::vector<Difference> environment_differences(const RecordedRun& left, const RecordedRun& right) {
  std::map<std::string, std::string> before = left.environment, after = right.environment;
  before["seed"] = std::to_string(left.seed);
  after["seed"] = std::to_string(right.seed);
  for (const auto& [name, value] : left.environment) after.emplace(name, "");
  for (const auto& [name, value] : right.environment) before.emplace(name, "");
  std::vector<Difference> differences;
  for (const auto& [name, value] : before) {
    if (value != after[name]) differences.push_back({name, value, after[name], false});
  }
  return differences;
}

std::vector<MetricPair> metric_pairs(const RunReader& left, const RunReader& right, Step step) {
  std::map<std::string, double> before;
  for (const RecordedMetric& metric : left.metrics()) {
    if (metric.step == step) before[metric.node + "." + metric.name] = metric.value;
  }
  std::vector<MetricPair> pairs;
  for (const RecordedMetric& metric : right.metrics()) {
    auto found = metric.step == step ? before.find(metric.node + "." + metric.name) : before.end();
    if (found == before.end()) continue;
    bool same = found->second == metric.value || (std::isnan(found->second) && std::isnan(metric.value));
    if (!same) pairs.push_back({found->first, found->second, metric.value});
  }
  return pairs;
}

RunDifference compare(const RunReader& left, const RunReader& right) {
  RunDifference difference;
  RecordedRun a = left.run(), b = right.run();
  try {
    difference.program =
        program_differences(recorded_compilation(a, {}, nullptr), recorded_compilation(b, {}, nullptr));
  } catch (const StoreError& error) {
    difference.program_note = error.what();
  }
  difference.environment = environment_differences(a, b);
  difference.compared_to = std::min(a.committed, b.committed);
  difference.divergence = first_divergence(left, right, difference.compared_to);
  difference.metrics = metric_pairs(left, right, difference.compared_to);
  return difference;
}

void print_text(const RunDifference& difference, const DiffOptions& options) {
  std::cout << options.left << " -> " << options.right << "\n";
  if (!difference.program_note.empty())
    std::cout << "the programs were not compared: " << difference.program_note << "\n";
  if (!difference.program.empty()) std::cout << "program\n" << to_text(difference.program);
  if (!difference.environment.empty()) std::cout << "seed and environment\n" << to_text(difference.environment);
  if (difference.divergence) {
    std::cout << "first task that differs: " << difference.divergence->task << "\n  " << difference.divergence->why
              << "\n";
  } else {
    std::cout << "all tasks are the same up to step " << difference.compared_to << "\n";
  }
  if (difference.metrics.empty()) return;
  Table table{{"metric", options.left, options.right, "change"}, {}, {false, true, true, true}};
  for (const MetricPair& pair : difference.metrics) {
    table.rows.push_back(
        {pair.name, number_text(pair.left), number_text(pair.right), number_text(pair.right - pair.left)});
  }
  std::cout << "metrics of step " << difference.compared_to << "\n" << to_text(table, 2);
}

json difference_json(const RunDifference& difference, const DiffOptions& options, bool same) {
  json metrics = json::object();
  for (const MetricPair& pair : difference.metrics) {
    metrics[pair.name] = {number_json(pair.left), number_json(pair.right)};
  }
  json divergence = nullptr;
  if (difference.divergence) {
    divergence = {{"task", difference.divergence->task}, {"why", difference.divergence->why}};
  }
  return {{"format", "rlflow.diff/1"},
          {"left", options.left},
          {"right", options.right},
          {"same", same},
          {"program", differences_json(difference.program)},
          {"note", difference.program_note},
          {"environment", differences_json(difference.environment)},
          {"compared_to_step", difference.compared_to},
          {"first_divergence", divergence},
          {"metrics", metrics}};
}

ExitCode diff(const DiffOptions& options) {
  const std::filesystem::path runs = runs_folder(options.runs_dir);
  RunReader left(find_run(options.left, runs)), right(find_run(options.right, runs));
  RunDifference difference = compare(left, right);
  // Metrics count nothing here: some are times.
  bool same = difference.program.empty() && difference.environment.empty() && !difference.divergence;
  if (options.json) {
    print_json(difference_json(difference, options, same));
  } else {
    print_text(difference, options);
  }
  return same ? ExitCode::yes : ExitCode::no;
}

}  // namespace

Action declare_diff(CLI::App& app, const Session&) {
  auto options = std::make_shared<DiffOptions>();
  app.add_option("left", options->left, "name of a run, a path to it, or @last")->required();
  app.add_option("right", options->right, "another one")->required();
  add_runs_option(app, options->runs_dir);
  app.add_flag("--json", options->json, "print one JSON object, rlflow.diff/1");
  app.footer(app.get_footer() +
             "\nExit code 0: program, seed, environment and every task that both have committed are the same; 1: not.");
  return [options] { return diff(*options); };
}

}  // namespace rlflow
