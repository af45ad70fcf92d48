// Diagnostics as JSON of the protocol.
#include "cli/lsp/published.h"

#include "cli/lsp/text_index.h"
#include "compiler/diagnostic_codes.h"

namespace rlflow::lsp {
namespace {

using nlohmann::json;

constexpr int kError = 1, kWarning = 2;
constexpr int kUnnecessary = 1;

json range_of(const SourceMap& sources, Span span) {
  return TextIndex(sources.file(span.file).text).range(span.begin, span.end);
}

bool has_place(const SourceMap& sources, Span span) { return span.valid() && !sources.is_command_line(span.file); }

std::string full_text(const Diagnostic& diagnostic) {
  std::string text = diagnostic.message;
  if (!diagnostic.primary_label.empty()) text += "\n" + diagnostic.primary_label;
  for (const std::string& note : diagnostic.notes) text += "\nnote: " + note;
  for (const Fix& fix : diagnostic.fixes) text += "\nhelp: " + fix.title;
  return text;
}

json diagnostic_json(const Workspace& workspace, const SourceMap& sources, const Diagnostic& diagnostic) {
  json related = json::array();
  for (const Label& label : diagnostic.labels) {
    if (!has_place(sources, label.span)) continue;
    related.push_back({{"location", location_json(workspace, sources, label.span)}, {"message", label.text}});
  }
  json object = {{"range", range_of(sources, diagnostic.primary)},
                 {"severity", diagnostic.level == Level::error ? kError : kWarning},
                 {"code", diagnostic.code},
                 {"source", "rlflow"},
                 {"message", full_text(diagnostic)},
                 {"relatedInformation", related}};
  const CodeInfo* info = find_code(diagnostic.code);
  if (info != nullptr && info->lint.starts_with("unused")) object["tags"] = {kUnnecessary};
  return object;
}

bool can_apply(const Fix& fix, const SourceMap& sources) {
  for (const Edit& edit : fix.edits) {
    if (!has_place(sources, edit.span)) return false;
  }
  return !fix.edits.empty() && fix.applicability != Applicability::guess;
}

}  // namespace

json location_json(const Workspace& workspace, const SourceMap& sources, Span span) {
  return {{"uri", workspace.uri_of(sources.file(span.file).path)}, {"range", range_of(sources, span)}};
}

json changes_json(const Workspace& workspace, const SourceMap& sources, const std::vector<Edit>& edits) {
  json changes = json::object();
  for (const Edit& edit : edits) {
    changes[workspace.uri_of(sources.file(edit.span.file).path)].push_back(
        {{"range", range_of(sources, edit.span)}, {"newText", edit.text}});
  }
  return changes;
}

std::map<std::string, json> published_diagnostics(const Workspace& workspace, const Document& document) {
  const Analysis& analysis = document.analysis;
  std::map<std::string, json> by_file;
  for (std::size_t i = 0; i < analysis.sources.size(); ++i) {
    if (!analysis.sources.is_command_line(FileId(i)))
      by_file[workspace.uri_of(analysis.sources.file(FileId(i)).path)] = json::array();
  }
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    Diagnostic placed = diagnostic;
    if (!has_place(analysis.sources, placed.primary)) placed.primary = {FileId(std::size_t{0}), 0, 0};
    by_file[workspace.uri_of(analysis.sources.file(placed.primary.file).path)].push_back(
        diagnostic_json(workspace, analysis.sources, placed));
  }
  return by_file;
}

json code_actions(const Workspace& workspace, const Document& document, std::uint32_t begin, std::uint32_t end) {
  const Analysis& analysis = document.analysis;
  json actions = json::array();
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    const Span& place = diagnostic.primary;
    if (place.file != FileId(std::size_t{0}) || place.end < begin || place.begin > end) continue;
    for (const Fix& fix : diagnostic.fixes) {
      if (!can_apply(fix, analysis.sources)) continue;
      actions.push_back({{"title", fix.title},
                         {"kind", "quickfix"},
                         {"isPreferred", fix.applicability == Applicability::safe},
                         {"diagnostics", {diagnostic_json(workspace, analysis.sources, diagnostic)}},
                         {"edit", {{"changes", changes_json(workspace, analysis.sources, fix.edits)}}}});
    }
  }
  return actions;
}

}  // namespace rlflow::lsp
