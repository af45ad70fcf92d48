// Messages of the compiler and failures of runs, as text and JSON.
#include "cli/diagnostic_output.h"

#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <variant>

#include "cli/terminal.h"
#include "compiler/diagnostics.h"

namespace rlflow {
namespace {

using nlohmann::json;

constexpr std::size_t kShownOnATerminal = 20;

json position_json(const SourceMap& sources, FileId file, std::uint32_t byte) {
  Position position = sources.position(file, byte);
  return {{"line", position.line}, {"col", position.column}, {"byte", position.byte}};
}

json span_json(const SourceMap& sources, Span span) {
  if (!span.valid()) return nullptr;
  return {{"file", sources.file(span.file).path},
          {"start", position_json(sources, span.file, span.begin)},
          {"end", position_json(sources, span.file, span.end)}};
}

json value_json(const Value& value) {
  if (value.is_null()) return nullptr;
  if (const bool* v = value.get<bool>()) return *v;
  if (const auto* v = value.get<std::int64_t>()) return *v;
  if (const double* v = value.get<double>()) return *v;
  if (const auto* v = value.get<std::string>()) return *v;
  return to_text(value);
}

const char* applicability_name(Applicability applicability) {
  switch (applicability) {
    case Applicability::safe: return "safe";
    case Applicability::likely: return "likely";
    case Applicability::guess: return "guess";
  }
  return "?";
}

json fix_json(const SourceMap& sources, const Fix& fix) {
  json edits = json::array();
  for (const Edit& edit : fix.edits) edits.push_back({{"span", span_json(sources, edit.span)}, {"text", edit.text}});
  return {{"title", fix.title}, {"applicability", applicability_name(fix.applicability)}, {"edits", edits}};
}

json diagnostic_json(const SourceMap& sources, const Diagnostic& diagnostic) {
  // The text at the primary place is a label like the others, the first.
  json labels = json::array();
  if (!diagnostic.primary_label.empty()) {
    labels.push_back({{"span", span_json(sources, diagnostic.primary)}, {"text", diagnostic.primary_label}});
  }
  for (const Label& label : diagnostic.labels) {
    labels.push_back({{"span", span_json(sources, label.span)}, {"text", label.text}});
  }
  json values = json::object();
  for (const auto& [name, value] : diagnostic.values) values[name] = value_json(value);
  json fixes = json::array();
  for (const Fix& fix : diagnostic.fixes) fixes.push_back(fix_json(sources, fix));
  return {{"code", diagnostic.code},
          {"level", diagnostic.level == Level::error ? "error" : "warning"},
          {"message", diagnostic.message},
          {"primary", span_json(sources, diagnostic.primary)},
          {"labels", labels},
          {"notes", diagnostic.notes},
          {"values", values},
          {"fixes", fixes},
          {"rendered", render(diagnostic, sources)}};
}

}  // namespace

json diagnostics_json(const Analysis& analysis) {
  json list = json::array();
  for (const Diagnostic& diagnostic : analysis.diagnostics)
    list.push_back(diagnostic_json(analysis.sources, diagnostic));
  return {{"format", "rlflow.diag/1"},
          {"ok", analysis.ok()},
          {"errors", count_level(analysis.diagnostics, Level::error)},
          {"warnings", count_level(analysis.diagnostics, Level::warning)},
          {"diagnostics", list}};
}

void print_diagnostics(const Analysis& analysis, const Session& session) {
  Terminal terminal = terminal_of(STDERR_FILENO, session);
  RenderOptions options;
  options.colour = terminal.colour;
  if (terminal.is_terminal) options.at_most = kShownOnATerminal;
  std::cerr << render_all(analysis.diagnostics, analysis.sources, options) << std::flush;
}

void print_outcome(const Outcome& outcome, const Plan* plan, const Session& session) {
  if (outcome.message.empty()) return;
  if (outcome.code_id.empty()) {  // something to know, and no failure
    std::cerr << outcome.message << "\n"
              << (outcome.help.empty() ? "" : "  = help: " + outcome.help + "\n") << std::flush;
    return;
  }
  Diagnostic diagnostic;
  diagnostic.code = outcome.code_id;
  diagnostic.message = outcome.message;
  if (!outcome.help.empty()) diagnostic.help(outcome.help);
  SourceMap sources;
  if (plan != nullptr) {
    for (const PlanSource& source : plan->sources) sources.add(source.path, source.text);
    if (outcome.node && outcome.node->valid()) diagnostic.primary = plan->nodes[outcome.node->index()].span;
  }
  RenderOptions options;
  options.colour = terminal_of(STDERR_FILENO, session).colour;
  std::cerr << render(diagnostic, sources, options) << std::flush;
}

}  // namespace rlflow
