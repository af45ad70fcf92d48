// Uses of one definition, over all open programs.
#include "cli/lsp/rename.h"

#include <algorithm>
#include <cctype>

#include "cli/lsp/published.h"

namespace rlflow::lsp {
namespace {

using nlohmann::json;

constexpr std::string_view kReserved[] = {"import", "param", "group", "model", "replica", "data", "reward",
                                          "flow",   "sync",  "every", "stop",  "on",      "when", "in",
                                          "as",     "and",   "or",    "not",   "true",    "false"};
constexpr std::string_view kLater[] = {"use", "buffer", "env", "def"};

bool is_name(const std::string& text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (text.empty() || !letter(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

bool is_reserved(const std::string& text) {
  return std::find(std::begin(kReserved), std::end(kReserved), text) != std::end(kReserved) ||
         std::find(std::begin(kLater), std::end(kLater), text) != std::end(kLater);
}

// The definition that stands at the same place of the same file in another program; -1: none.
std::ptrdiff_t same_definition(const NameIndex& names, const SourceMap& sources, const std::string& path, Span span) {
  for (std::size_t i = 0; i < names.definitions().size(); ++i) {
    const Definition& other = names.definition(i);
    if (other.span.begin == span.begin && sources.file(other.span.file).path == path)
      return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

}  // namespace

std::optional<std::string> refuse_name(const NameIndex& names, const Definition& definition, const std::string& name) {
  if (!is_name(name)) return "`" + name + "` is no name: letters, digits and `_`, no digit first";
  if (is_reserved(name)) return "`" + name + "` is a word of the language";
  const Definition* other = names.find(definition.span.file, name);
  if (other != nullptr && name != definition.name) {
    return "`" + name + "` is already " + noun_of(other->kind) + " of this file";
  }
  return std::nullopt;
}

json rename_changes(const Workspace& workspace, const Document& document, const NameIndex& names,
                    std::size_t definition, const std::string& name, const Catalog& catalog) {
  const Span target = names.definition(definition).span;
  const std::string path = document.analysis.sources.file(target.file).path;
  json changes = json::object();
  for (const auto& [uri, open] : workspace.documents()) {
    const SourceMap& sources = open.analysis.sources;
    NameIndex own(open.analysis, catalog);
    std::ptrdiff_t same = same_definition(own, sources, path, target);
    std::vector<Edit> edits;
    for (const Occurrence& occurrence : own.occurrences()) {
      if (static_cast<std::ptrdiff_t>(occurrence.definition) == same) edits.push_back({occurrence.span, name});
    }
    const json found = changes_json(workspace, sources, edits);
    for (const auto& [file, list] : found.items()) {
      json& known = changes[file];
      for (const json& edit : list) {
        if (std::find(known.begin(), known.end(), edit) == known.end()) known.push_back(edit);
      }
    }
  }
  return changes;
}

json reference_locations(const Workspace& workspace, const Document& document, const NameIndex& names,
                         std::size_t definition, bool with_definition) {
  json locations = json::array();
  for (const Occurrence& occurrence : names.occurrences()) {
    if (occurrence.definition != definition || (occurrence.defines && !with_definition)) continue;
    locations.push_back(location_json(workspace, document.analysis.sources, occurrence.span));
  }
  return locations;
}

}  // namespace rlflow::lsp
