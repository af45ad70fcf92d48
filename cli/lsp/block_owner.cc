// What does a half-written call or settings block belong to?
#include <algorithm>

#include "cli/lsp/completion.h"
#include "cli/lsp/described.h"
#include "cli/lsp/owner.h"

namespace rlflow::lsp {
namespace {

bool is_model(ArgumentRole role) { return role == ArgumentRole::model || role == ArgumentRole::trainable; }

const Model* model_at(const Pipeline& pipeline, Span name_span) {
  for (const Model& model : pipeline.models) {
    if (model.name_span == name_span) return &model;
  }
  return nullptr;
}

bool head_fits(const ArgumentSpec& spec, const Model* model) {
  if (spec.heads.empty() || model == nullptr || !model->known) return true;
  return std::find(spec.heads.begin(), spec.heads.end(), head_name(model->head)) != spec.heads.end();
}

bool takes(const ArgumentSpec& spec, const Definition& definition, const Pipeline& pipeline) {
  switch (definition.kind) {
    case SymbolKind::output: {
      if (spec.role != ArgumentRole::edge) return false;
      OutputPlace place = output_at(pipeline, definition.span);
      if (place.output == nullptr || !place.output->known) return true;
      return std::find(spec.kinds.begin(), spec.kinds.end(), place.output->kind) != spec.kinds.end();
    }
    case SymbolKind::model: return is_model(spec.role) && head_fits(spec, model_at(pipeline, definition.span));
    case SymbolKind::replica: return spec.role == ArgumentRole::replica;
    case SymbolKind::data: return spec.role == ArgumentRole::data;
    case SymbolKind::reward: return spec.role == ArgumentRole::reward;
    case SymbolKind::param: return spec.role == ArgumentRole::constant;
    case SymbolKind::group:
    case SymbolKind::import: return false;
    case SymbolKind::broken: return true;
  }
  return false;
}

bool fits(const NodeSignature& signature, const WrittenCall& call, const Pipeline& pipeline,
          const std::map<std::string, const Definition*>& visible) {
  std::size_t place = 0;
  for (const GivenArgument& given : call.arguments) {
    const ArgumentSpec* spec = nullptr;
    for (const ArgumentSpec& candidate : signature.arguments) {
      if (!given.name.empty() && candidate.name == given.name) spec = &candidate;
    }
    if (given.name.empty()) {
      while (place < signature.arguments.size() && signature.arguments[place].named_only) ++place;
      if (place < signature.arguments.size()) spec = &signature.arguments[place];
      if (spec != nullptr && !spec->variadic) ++place;
    }
    if (spec == nullptr) return false;
    auto named = visible.find(given.value);
    if (named != visible.end() && !takes(*spec, *named->second, pipeline)) return false;
  }
  return true;
}

}  // namespace

std::vector<const NodeSignature*> fitting_signatures(const WrittenCall& call, const Analysis& analysis,
                                                     const NameIndex& names, const Catalog& catalog) {
  std::vector<const NodeSignature*> all = signatures_of(catalog, call.callee), fitting;
  const auto visible = names.visible(FileId(std::size_t{0}));
  for (const NodeSignature* signature : all) {
    if (fits(*signature, call, analysis.pipeline, visible)) fitting.push_back(signature);
  }
  return fitting.empty() ? all : fitting;
}

BlockOwner block_owner(const Cursor& cursor, const Analysis& analysis, const NameIndex& names, const Catalog& catalog) {
  const std::string_view keyword = cursor.statement_word(0);
  WrittenCall call = cursor.statement_call();
  if (cursor.in_flow()) {
    if (keyword == "sync") return {"sync", pointers_to(catalog.sync_settings)};
    BlockOwner owner{"`" + call.callee + "`", {}};
    for (const NodeSignature* signature : fitting_signatures(call, analysis, names, catalog)) {
      for (const SettingSpec* spec : node_settings(catalog, *signature)) {
        if (find_setting(owner.settings, spec->name) == nullptr) owner.settings.push_back(spec);
      }
    }
    return owner;
  }
  const std::string name(cursor.statement_word(1));
  if (keyword == "model" && call.callee == "base_of") {
    return {"model `" + name + "`", pointers_to(catalog.base_settings)};
  }
  if (keyword == "model") return {"model `" + name + "`", pointers_to(catalog.model_settings)};
  if (keyword == "group") return {"group `" + name + "`", pointers_to(catalog.group_settings)};
  if (keyword == "replica") return {"replica `" + name + "`", pointers_to(catalog.replica_settings)};
  if (keyword != "data" && keyword != "reward") return {};
  const SourceSignature* source =
      find_source(keyword == "data" ? catalog.data : catalog.rewards, call.callee, call.text);
  if (source == nullptr) return {};
  return {"`" + (source->name.empty() ? source->source : source->name) + "`", pointers_to(source->settings)};
}

}  // namespace rlflow::lsp
