// Looks names up.
#include "compiler/scope.h"

#include "compiler/names.h"

namespace rlflow {

const char* noun_of(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::param: return "a parameter";
    case SymbolKind::group: return "a group";
    case SymbolKind::model: return "a model";
    case SymbolKind::replica: return "a replica";
    case SymbolKind::data: return "a data set";
    case SymbolKind::reward: return "a reward function";
    case SymbolKind::output: return "a node's output";
    case SymbolKind::import: return "an import";
    case SymbolKind::broken: return "";
  }
  return "";
}

const char* plural_of(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::param: return "parameters";
    case SymbolKind::group: return "groups";
    case SymbolKind::model: return "models";
    case SymbolKind::replica: return "replicas";
    case SymbolKind::data: return "data sets";
    case SymbolKind::reward: return "reward functions";
    case SymbolKind::output: return "node outputs";
    case SymbolKind::import: return "imports";
    case SymbolKind::broken: return "names";
  }
  return "";
}

const Symbol* Scope::find(const std::string& dotted) const {
  auto own = names.find(dotted);
  if (own != names.end()) return &own->second;
  auto unknown = unread.find(dotted);
  if (unknown != unread.end()) return &unknown->second;
  std::size_t dot = dotted.find('.');
  if (dot == std::string::npos) return nullptr;
  auto import = imports.find(dotted.substr(0, dot));
  if (import != imports.end()) return import->second->find(dotted.substr(dot + 1));
  const Symbol* base = find(dotted.substr(0, dot));  // of an import that could not be read, nothing is known
  return base != nullptr && base->kind == SymbolKind::broken ? base : nullptr;
}

bool Scope::is_told_elsewhere(SymbolKind kind, const std::string& name,
                              const std::vector<std::string>& candidates) const {
  if (!close_names(name, candidates).empty()) return false;
  return doubled.count(kind) > 0 || !missed.insert(name).second;
}

std::vector<std::string> Scope::names_of(SymbolKind kind) const {
  std::vector<std::string> list;
  for (const auto& [name, symbol] : names) {
    if (symbol.kind == kind) list.push_back(name);
  }
  for (const auto& [alias, scope] : imports) {
    for (const std::string& name : scope->names_of(kind)) list.push_back(alias + "." + name);
  }
  return list;
}

}  // namespace rlflow
