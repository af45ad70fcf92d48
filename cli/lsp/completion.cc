// The list of completions, and the names that fit.
#include "cli/lsp/completion.h"

#include <algorithm>

#include "cli/lsp/completer.h"
#include "cli/lsp/described.h"

namespace rlflow::lsp {
namespace {

// Null for what is no param, or one that could not be read.
const Param* param_of(const Pipeline& pipeline, const Definition& definition) {
  for (const Param& param : pipeline.params) {
    if (param.name_span == definition.span) return &param;
  }
  return nullptr;
}

bool holds_one_of(const Param& param, const std::vector<std::string>& words) {
  const Word* word = param.value.get<Word>();
  return word == nullptr || std::find(words.begin(), words.end(), word->name) != words.end();
}

}  // namespace

Completer::Completer(const Cursor& cursor, const Analysis& analysis, const NameIndex& names, const Catalog& catalog)
    : cursor_(cursor),
      analysis_(analysis),
      names_(names),
      catalog_(catalog),
      visible_(names.visible(FileId(std::size_t{0}))) {}

std::vector<Completion> Completer::run() {
  if (cursor_.in_comment()) return {};
  if (cursor_.in_string()) {
    source_names();
  } else {
    place();
  }
  return std::move(list_);
}

void Completer::add(const std::string& label, CompletionKind kind, std::string detail, std::string doc,
                    std::string insert) {
  bool known = std::any_of(list_.begin(), list_.end(), [&](const Completion& other) { return other.label == label; });
  if (!known) list_.push_back({label, kind, std::move(detail), std::move(doc), std::move(insert)});
}

void Completer::add_all(std::initializer_list<const char*> labels, CompletionKind kind) {
  for (const char* label : labels) add(label, kind);
}

void Completer::add_name(const std::string& name, const Definition& definition) {
  add(name, CompletionKind::name, declaration_line(definition, analysis_.pipeline),
      describe(definition, analysis_.pipeline));
}

void Completer::names_of(SymbolKind kind) {
  for (const auto& [name, definition] : visible_) {
    if (definition->kind == kind) add_name(name, *definition);
  }
}

void Completer::params(const ParamTypes& types, const std::vector<std::string>& words) {
  for (const auto& [name, definition] : visible_) {
    if (definition->kind != SymbolKind::param) continue;
    const Param* param = param_of(analysis_.pipeline, *definition);
    // A param cannot use itself, nor one that is declared behind it.
    if (definition->span.file == FileId(0) && definition->span.begin >= cursor_.statement_begin()) continue;
    if (param != nullptr && std::find(types.begin(), types.end(), param->type) == types.end()) continue;
    if (param != nullptr && param->type == ParamType::word && !holds_one_of(*param, words)) continue;
    add_name(name, *definition);
  }
}

std::vector<Completion> complete(const Cursor& cursor, const Analysis& analysis, const NameIndex& names,
                                 const Catalog& catalog) {
  return Completer(cursor, analysis, names, catalog).run();
}

}  // namespace rlflow::lsp
