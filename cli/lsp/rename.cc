// Uses of one definition, over all open programs.
#include "cli/lsp/rename.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "cli/lsp/published.h"
#include "cli/lsp/text_index.h"
#include "compiler/syntax_tree.h"

namespace rlflow::lsp {
namespace {

using nlohmann::json;

bool is_name(const std::string& text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (text.empty() || !letter(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; });
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

// Where one program names the definition.
struct Places {
  const Analysis& analysis;
  std::vector<Occurrence> occurrences;
};

// In every open program that holds the definition; a program that imports it names it by the same file and place.
std::vector<Places> places_of(const Workspace& workspace, const Document& document, const NameIndex& names,
                              std::size_t definition, const Catalog& catalog) {
  const Span target = names.definition(definition).span;
  const std::string& path = document.analysis.sources.file(target.file).path;
  std::vector<Places> places;
  for (const auto& [uri, open] : workspace.documents()) {
    NameIndex own(open.analysis, catalog);
    std::ptrdiff_t same = same_definition(own, open.analysis.sources, path, target);
    Places found{open.analysis, {}};
    for (const Occurrence& occurrence : own.occurrences()) {
      if (static_cast<std::ptrdiff_t>(occurrence.definition) == same) found.occurrences.push_back(occurrence);
    }
    if (!found.occurrences.empty()) places.push_back(std::move(found));
  }
  return places;
}

void add_new(json& list, const json& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

// Definition and uses of the file's name, over all open programs.
std::size_t count_uses(const Workspace& workspace, const std::string& path, const std::string& name,
                       const Catalog& catalog) {
  std::size_t count = 0;
  for (const auto& [uri, open] : workspace.documents()) {
    NameIndex names(open.analysis, catalog);
    for (const Occurrence& occurrence : names.occurrences()) {
      const Definition& meant = names.definition(occurrence.definition);
      if (meant.name == name && open.analysis.sources.file(meant.span.file).path == path) ++count;
    }
  }
  return count;
}

// Tries the edits on a copy. A use may become a word of its setting (`dtype = f32`), and a name that was a mistake
// may become a use.
bool keeps_uses(Workspace trial, const json& changes, const std::map<std::string, std::string>& texts,
                const std::string& path, const std::string& from, const std::string& to, const Catalog& catalog) {
  for (const auto& [uri, edits] : changes.items()) {
    if (trial.find(uri) == nullptr) trial.open(uri, 0, texts.at(uri));
  }
  const std::size_t before = count_uses(trial, path, from, catalog);
  for (const auto& [uri, edits] : changes.items()) {
    json later_first = json::array();
    for (const json& edit : edits) later_first.push_back({{"range", edit["range"]}, {"text", edit["newText"]}});
    std::sort(later_first.begin(), later_first.end(), [](const json& a, const json& b) {
      const auto place = [](const json& edit) { return position_of(edit["range"]["start"]); };
      const EditorPosition left = place(a), right = place(b);
      return std::pair(left.line, left.character) > std::pair(right.line, right.character);
    });
    trial.change(uri, 0, later_first);
  }
  return count_uses(trial, path, to, catalog) == before;
}

// Why this name cannot be given to the definition; nullopt where it can.
std::optional<std::string> refuse_name(const NameIndex& names, const Definition& definition, const std::string& name) {
  if (!is_name(name)) return "`" + name + "` is no name: letters, digits and `_`, no digit first";
  if (is_reserved(name)) return "`" + name + "` is a word of the language";
  const Definition* other = names.find(definition.span.file, name);
  if (other != nullptr && name != definition.name) {
    return "`" + name + "` is already " + noun_of(other->kind) + " of this file";
  }
  return std::nullopt;
}

}  // namespace

RenameResult rename(const Workspace& workspace, const Document& document, const NameIndex& names,
                    std::size_t definition, const std::string& name, const Catalog& catalog) {
  RenameResult result;
  const Definition& target = names.definition(definition);
  result.refusal = refuse_name(names, target, name);
  std::map<std::string, std::string> texts;  // by URI
  for (const Places& places : places_of(workspace, document, names, definition, catalog)) {
    const SourceMap& sources = places.analysis.sources;
    for (const ast::File& file : places.analysis.files) {
      const std::string& path = sources.file(file.id).path;
      texts.emplace(workspace.uri_of(path), sources.file(file.id).text);
      if (file.broken && !result.refusal)
        result.refusal = "`" + path + "` has a line that cannot be read, so a use may be missed";
    }
    std::vector<Edit> edits;
    for (const Occurrence& occurrence : places.occurrences) edits.push_back({occurrence.span, name});
    const json found = changes_json(workspace, sources, edits);
    for (const auto& [file, list] : found.items()) {
      for (const json& edit : list) add_new(result.changes[file], edit);
    }
  }
  const std::string& path = document.analysis.sources.file(target.span.file).path;
  if (!result.refusal && name != target.name &&
      !keeps_uses(workspace, result.changes, texts, path, target.name, name, catalog)) {
    result.refusal = "as `" + name + "` it would mean something else in one of its places";
  }
  return result;
}

json reference_locations(const Workspace& workspace, const Document& document, const NameIndex& names,
                         std::size_t definition, bool with_definition, const Catalog& catalog) {
  json locations = json::array();
  for (const Places& places : places_of(workspace, document, names, definition, catalog)) {
    for (const Occurrence& occurrence : places.occurrences) {
      if (occurrence.defines && !with_definition) continue;
      add_new(locations, location_json(workspace, places.analysis.sources, occurrence.span));
    }
  }
  return locations;
}

}  // namespace rlflow::lsp
