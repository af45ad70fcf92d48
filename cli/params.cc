// `rlflow params FILE`: every parameter and setting, its value, and who gave it.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/diagnostic_output.h"
#include "cli/json_output.h"
#include "cli/program_input.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "compiler/compile.h"
#include "nodes/signatures/catalog.h"

namespace rlflow {
namespace {

struct ParamsOptions {
  ProgramInput input;
  bool json = false;
};

struct Entry {
  std::string address;
  std::string value;
  Origin origin;
  std::string doc;
};

const char* origin_name(Origin origin) {
  switch (origin) {
    case Origin::fallback: return "default";
    case Origin::source: return "program";
    case Origin::command_line: return "command line";
  }
  return "?";
}

void add_settings(std::vector<Entry>& entries, const std::string& owner, const Settings& settings) {
  for (const auto& [name, setting] : settings) {
    if (setting.value.is_null()) continue;
    entries.push_back({owner + "." + name, to_text(setting.value), setting.origin, ""});
  }
}

// Who gave a shape constant is told by where its value stands.
Origin constant_origin(const FlowNode& node, const std::string& name, const SourceMap& sources) {
  if (node.signature == nullptr) return Origin::source;
  for (std::size_t i = 0; i < node.signature->arguments.size() && i < node.inputs.size(); ++i) {
    if (node.signature->arguments[i].name != name) continue;
    if (!node.inputs[i].span.valid()) return Origin::fallback;
    return sources.is_command_line(node.inputs[i].span.file) ? Origin::command_line : Origin::source;
  }
  return Origin::source;
}

std::vector<Entry> entries_of(const Pipeline& pipeline, const SourceMap& sources) {
  std::vector<Entry> entries;
  for (const Param& param : pipeline.params)
    entries.push_back({param.name, to_text(param.value), param.origin, param.doc});
  for (const Group& group : pipeline.groups) add_settings(entries, group.name, group.settings);
  for (const Model& model : pipeline.models) add_settings(entries, model.name, model.settings);
  for (const Source& data : pipeline.data) add_settings(entries, data.name, data.settings);
  for (const Source& reward : pipeline.rewards) add_settings(entries, reward.name, reward.settings);
  for (const FlowNode& node : pipeline.nodes) {
    for (const auto& [name, value] : node.constants) {
      entries.push_back({node.name + "." + name, to_text(value), constant_origin(node, name, sources), ""});
    }
    add_settings(entries, node.name, node.settings);
  }
  return entries;
}

ExitCode show_params(const ParamsOptions& options, const Session& session) {
  const Catalog known = catalog();
  const Analysis analysis = analyze(compile_request(options.input), known);
  print_diagnostics(analysis, session);
  if (!analysis.readable) return ExitCode::could_not_answer;
  nlohmann::json list = nlohmann::json::array();
  Table table{{"address", "value", "from", ""}, {}, {}};
  for (const Entry& entry : entries_of(analysis.pipeline, analysis.sources)) {
    list.push_back({{"address", entry.address},
                    {"value", entry.value},
                    {"origin", origin_name(entry.origin)},
                    {"doc", entry.doc}});
    table.rows.push_back({entry.address, entry.value, origin_name(entry.origin), entry.doc});
  }
  if (options.json) {
    print_json({{"format", "rlflow.params/1"}, {"params", list}});
  } else {
    std::cout << to_text(table);
  }
  return analysis.ok() ? ExitCode::yes : ExitCode::no;
}

}  // namespace

Action declare_params(CLI::App& app, const Session& session) {
  auto options = std::make_shared<ParamsOptions>();  // shared by the parser, which fills it, and the action
  add_program_input(app, options->input);
  app.add_flag("--json", options->json, "print one JSON object, rlflow.params/1");
  return [options, &session] { return show_params(*options, session); };
}

}  // namespace rlflow
