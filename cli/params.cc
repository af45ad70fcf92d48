// `rlflow params FILE`: every parameter and setting, its value, and who gave it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/adjustable.h"
#include "cli/diagnostic_output.h"
#include "cli/json_output.h"
#include "cli/program_input.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "compiler/compile.h"
#include "nodes/signatures/catalog.h"

namespace rlflow {
namespace {

struct ParamsOptions {
  ProgramInput input;
  bool json = false;
};

// "int 1..100", "float > 0", "grpo | rloo"
std::string values_text(const Adjustable& entry) {
  std::string choices;
  for (const std::string& choice : entry.choices) choices += (choices.empty() ? "" : " | ") + choice;
  const bool or_number = entry.type.find(" or ") != std::string::npos;
  if (!choices.empty() && !or_number) return choices;
  std::string numbers = or_number ? "float" : entry.type;
  if (entry.lo && entry.hi && !entry.lo_open) {
    numbers += " " + double_text(*entry.lo) + ".." + double_text(*entry.hi);
  } else {
    if (entry.lo) numbers += (entry.lo_open ? " > " : " >= ") + double_text(*entry.lo);
    if (entry.hi) numbers += " <= " + double_text(*entry.hi);
  }
  return choices.empty() ? numbers : numbers + " | " + choices;
}

const char* origin_name(Origin origin) {
  switch (origin) {
    case Origin::fallback: return "default";
    case Origin::source: return "program";
    case Origin::overrides_file: return "overrides file";
    case Origin::command_line: return "command line";
  }
  return "?";
}

// "default", "program", "small.toml:3", "command line"
std::string from_text(const Adjustable& entry, const SourceMap& sources) {
  if (entry.origin != Origin::overrides_file || !entry.place.valid()) return origin_name(entry.origin);
  return sources.file(entry.place.file).path + ":" +
         std::to_string(sources.position(entry.place.file, entry.place.begin).line);
}

nlohmann::json entry_json(const Adjustable& entry, const SourceMap& sources) {
  nlohmann::json object = {{"address", entry.address},
                           {"type", entry.type},
                           {"value", entry.value ? nlohmann::json(*entry.value) : nlohmann::json(nullptr)},
                           {"origin", origin_name(entry.origin)},
                           {"doc", entry.doc}};
  if (entry.lo) object["min"] = *entry.lo;
  if (entry.lo) object["min_included"] = !entry.lo_open;
  if (entry.hi) object["max"] = *entry.hi;
  if (!entry.choices.empty()) object["choices"] = entry.choices;
  if (entry.place.valid() && entry.origin != Origin::command_line) {
    object["file"] = sources.file(entry.place.file).path;
    object["line"] = sources.position(entry.place.file, entry.place.begin).line;
  }
  return object;
}

void print_table(const std::vector<Adjustable>& entries, const SourceMap& sources, std::size_t width) {
  constexpr std::size_t kWidestValues = 24;
  constexpr std::size_t kWidestValue = 36;
  Table table{{"address", "value", "from", "may be", "meaning"}, {}, {}};
  for (const Adjustable& entry : entries) {
    std::string values = values_text(entry);
    std::string doc = entry.doc;
    if (code_points(values) > kWidestValues) {  // long sets read better in the wrapped column
      doc += (doc.empty() ? "" : ": ") + values;
      values = "one of";
    }
    std::string value = entry.value.value_or("none");
    if (entry.type.ends_with("call")) value = value.substr(0, value.find('(')) + (value.ends_with(")") ? "(…)" : "");
    table.rows.push_back({entry.address, clipped(value, kWidestValue, true), from_text(entry, sources), values, doc});
  }
  std::cout << to_text(table, 0, width);
}

ExitCode show_params(const ParamsOptions& options, const Session& session) {
  const Catalog known = catalog();
  const Analysis analysis = analyze(compile_request(options.input), known);
  print_diagnostics(analysis, session);
  if (!analysis.readable) return ExitCode::could_not_answer;
  const std::vector<Adjustable> entries = adjustables(analysis, known);
  if (options.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Adjustable& entry : entries) list.push_back(entry_json(entry, analysis.sources));
    print_json({{"format", "rlflow.params/1"}, {"params", list}});
  } else {
    const Terminal terminal = terminal_of(STDOUT_FILENO, session);
    print_table(entries, analysis.sources, terminal.is_terminal ? static_cast<std::size_t>(terminal.width) : 0);
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
