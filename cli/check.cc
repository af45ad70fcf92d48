// `rlflow check`: is this a program that can run? Says every mistake that can be found without running it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/diagnostic_output.h"
#include "cli/fixes.h"
#include "cli/json_output.h"
#include "cli/planning/found_machine.h"
#include "cli/planning/memory_messages.h"
#include "cli/program_input.h"
#include "cli/text_file.h"
#include "cli/verb.h"
#include "compiler/lower.h"
#include "compiler/names.h"
#include "nodes/signatures/catalog.h"

namespace rlflow {
namespace {

using nlohmann::json;

constexpr int kMostRounds = 10;  // of fixes: one may uncover the next

struct CheckOptions {
  std::vector<std::string> files;
  ProgramInput input;
  std::string machine;  // --machine; empty: nothing is said about devices
  bool as_json = false;
  bool fix = false;
};

ExitCode verdict(const Analysis& analysis) {
  if (!analysis.readable) return ExitCode::could_not_answer;
  return analysis.ok() ? ExitCode::yes : ExitCode::no;
}

std::string summary(const std::string& file, const Analysis& analysis) {
  const Pipeline& pipeline = analysis.pipeline;
  std::string text = file + ": ok";
  if (pipeline.flow.empty()) return text + ", a library\n";
  auto alive =
      std::count_if(pipeline.nodes.begin(), pipeline.nodes.end(), [](const FlowNode& node) { return !node.removed; });
  text += ", flow `" + pipeline.flow + "` of " + counted(alive, "node");
  if (std::size_t warnings = count_level(analysis.diagnostics, Level::warning); warnings > 0) {
    text += ", " + counted(static_cast<std::int64_t>(warnings), "warning");
  }
  return text + "\n";
}

// Mends the files on the disk and analyses them again.
Analysis with_fixes(Analysis analysis, const CompileRequest& request, const Catalog& catalog) {
  std::size_t applied = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    FixedFiles fixed = apply_safe_fixes(analysis);
    if (fixed.applied == 0) break;
    for (const auto& [path, text] : fixed.texts) replace_text_file(path, text);
    applied += fixed.applied;
    analysis = analyze(request, catalog);
  }
  if (applied > 0)
    std::cerr << "fixed " << counted(static_cast<std::int64_t>(applied), "mistake") << " in " << request.path << "\n";
  return analysis;
}

// Adds what was found in one more program to the object that is printed.
void join(json& whole, json part) {
  if (whole.is_null()) {
    whole = std::move(part);
    return;
  }
  whole["ok"] = whole["ok"].get<bool>() && part["ok"].get<bool>();
  for (const char* count : {"errors", "warnings"})
    whole[count] = whole[count].get<std::size_t>() + part[count].get<std::size_t>();
  for (json& diagnostic : part["diagnostics"]) whole["diagnostics"].push_back(std::move(diagnostic));
}

void add_memory_faults(const Catalog& known, const Cluster& cluster, Analysis& analysis) {
  if (!analysis.ok() || analysis.pipeline.flow.empty()) return;
  const Plan plan =
      lower(analysis.pipeline, analysis.placed, known, analysis.sources, analysis.files, analysis.overrides);
  Diagnostics found;
  check_memory(plan, analysis.pipeline, read_model_facts(plan), cluster, found);
  for (Diagnostic& diagnostic : found.take()) analysis.diagnostics.push_back(std::move(diagnostic));
}

ExitCode check(const CheckOptions& options, const Session& session) {
  const Catalog known = catalog();
  std::optional<Machine> machine;
  if (!options.machine.empty()) machine = machine_of(options.machine);
  ExitCode worst = ExitCode::yes;
  json found;
  for (const std::string& file : options.files) {
    ProgramInput input = options.input;
    input.path = file;
    CompileRequest request = compile_request(input);
    if (machine) request.cluster = &machine->cluster;
    Analysis analysis = analyze(request, known);
    if (options.fix) analysis = with_fixes(std::move(analysis), request, known);
    if (machine) add_memory_faults(known, machine->cluster, analysis);
    worst = std::max(worst, verdict(analysis));
    if (options.as_json) {
      join(found, diagnostics_json(analysis));
      continue;
    }
    print_diagnostics(analysis, session);
    if (analysis.ok() && session.verbose > 0) std::cout << summary(file, analysis);
  }
  if (options.as_json) print_json(found);
  return worst;
}

}  // namespace

Action declare_check(CLI::App& app, const Session& session) {
  // Shared by the parser, which fills it, and the action, which reads it.
  auto options = std::make_shared<CheckOptions>();
  app.add_option("FILES", options->files, "programs; - reads the standard input")->required()->option_text("...");
  add_program_changes(app, options->input);
  app.add_option("--machine", options->machine, "check devices and memory against this machine, rlflow.machine/1")
      ->option_text("FILE");
  app.add_flag("--json", options->as_json, "print one JSON object, rlflow.diag/1");
  app.add_flag("--fix", options->fix, "make the corrections that are certain, in the files");
  app.parse_complete_callback([options] {
    bool piped = std::count(options->files.begin(), options->files.end(), "-") > 0;
    if (options->fix && piped) throw CLI::ValidationError("--fix", "cannot mend the standard input: give a file");
  });
  return [options, &session] { return check(*options, session); };
}

}  // namespace rlflow
