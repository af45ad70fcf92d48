// Walks the syntax trees: definitions of every file first, then uses.
#include "cli/lsp/name_index.h"

#include <filesystem>

#include "cli/lsp/owner.h"

namespace rlflow::lsp {

class NameWalk {
 public:
  NameWalk(const Analysis& analysis, const Catalog& catalog, NameIndex& index)
      : analysis_(analysis), catalog_(catalog), index_(index) {}

  void run() {
    for (const ast::File& file : analysis_.files) {
      for (const ast::Decl& declaration : file.decls) define_in(file, declaration);
    }
    for (const ast::File& file : analysis_.files) {
      for (const ast::Decl& declaration : file.decls) use_in(declaration);
    }
  }

 private:
  // ---- definitions

  void define(const ast::Name& name, SymbolKind kind) {
    if (!name.span.valid()) return;
    std::size_t index = index_.definitions_.size();
    index_.definitions_.push_back({kind, name.text, name.span});
    index_.occurrences_.push_back({name.span, index, true});
    index_.names_[name.span.file].emplace(name.text, index);
  }

  void define_in(const ast::File& file, const ast::Decl& declaration) {
    if (const auto* d = std::get_if<ast::ImportDecl>(&declaration.data)) {
      define(d->alias, SymbolKind::import);
      follow(file.id, *d);
    } else if (const auto* param = std::get_if<ast::ParamDecl>(&declaration.data)) {
      define(param->name, SymbolKind::param);
    } else if (const auto* group = std::get_if<ast::GroupDecl>(&declaration.data)) {
      define(group->name, SymbolKind::group);
    } else if (const auto* model = std::get_if<ast::ModelDecl>(&declaration.data)) {
      define(model->name, SymbolKind::model);
    } else if (const auto* replica = std::get_if<ast::ReplicaDecl>(&declaration.data)) {
      define(replica->name, SymbolKind::replica);
    } else if (const auto* data = std::get_if<ast::DataDecl>(&declaration.data)) {
      define(data->name, SymbolKind::data);
    } else if (const auto* reward = std::get_if<ast::RewardDecl>(&declaration.data)) {
      define(reward->name, SymbolKind::reward);
    } else if (const auto* flow = std::get_if<ast::FlowDecl>(&declaration.data)) {
      define_outputs(flow->body);
    } else if (const auto* broken = std::get_if<ast::BrokenDecl>(&declaration.data)) {
      for (const ast::Name& name : broken->defines) define(name, SymbolKind::broken);
    }
  }

  void define_outputs(const std::vector<ast::Stmt>& body) {
    for (const ast::Stmt& statement : body) {
      if (const auto* node = std::get_if<ast::NodeStmt>(&statement.data)) {
        for (const ast::Output& output : node->outputs) define(output.name, SymbolKind::output);
      } else if (const auto* every = std::get_if<ast::EveryStmt>(&statement.data)) {
        define_outputs(every->body);
      } else if (const auto* broken = std::get_if<ast::BrokenStmt>(&statement.data)) {
        for (const ast::Name& name : broken->defines) define(name, SymbolKind::broken);
      }
    }
  }

  // As the compiler's loader does: relative to the importing file.
  void follow(FileId file, const ast::ImportDecl& import) {
    std::filesystem::path from = analysis_.sources.file(file).path;
    std::string target = (from.parent_path() / import.path).lexically_normal().string();
    for (const ast::File& candidate : analysis_.files) {
      if (analysis_.sources.file(candidate.id).path == target)
        index_.imports_[file].emplace(import.alias.text, candidate.id);
    }
  }

  // ---- uses

  void use_in(const ast::Decl& declaration) {
    if (const auto* param = std::get_if<ast::ParamDecl>(&declaration.data)) {
      use(param->value);
      if (!param->domain) return;
      for (const ast::Expr& item : param->domain->items) use(item);
    } else if (const auto* group = std::get_if<ast::GroupDecl>(&declaration.data)) {
      if (group->index) use_all(group->index->items);
      use(group->settings, pointers_to(catalog_.group_settings));
    } else if (const auto* model = std::get_if<ast::ModelDecl>(&declaration.data)) {
      use(model->source);
      if (model->group) use(*model->group);
      use(model->settings, pointers_to(catalog_.model_settings));
    } else if (const auto* replica = std::get_if<ast::ReplicaDecl>(&declaration.data)) {
      use(replica->model);
      use(replica->group);
      use(replica->settings, pointers_to(catalog_.replica_settings));
    } else if (const auto* data = std::get_if<ast::DataDecl>(&declaration.data)) {
      use(data->source);
      use(data->settings, source_settings(catalog_.data, data->source));
    } else if (const auto* reward = std::get_if<ast::RewardDecl>(&declaration.data)) {
      use(reward->source);
      use(reward->settings, source_settings(catalog_.rewards, reward->source));
    } else if (const auto* flow = std::get_if<ast::FlowDecl>(&declaration.data)) {
      use_in(flow->body);
    }
  }

  void use_in(const std::vector<ast::Stmt>& body) {
    for (const ast::Stmt& statement : body) {
      if (const auto* node = std::get_if<ast::NodeStmt>(&statement.data)) {
        use(node->call);
        if (node->on) use(*node->on);
        if (node->when) use(*node->when);
        use(node->settings, node_settings(catalog_, node->call.callee.text));
      } else if (const auto* sync = std::get_if<ast::SyncStmt>(&statement.data)) {
        use(sync->model);
        use(sync->replica);
        use(sync->every);
        use(sync->lag);
        use(sync->settings, pointers_to(catalog_.sync_settings));
      } else if (const auto* every = std::get_if<ast::EveryStmt>(&statement.data)) {
        use(every->every);
        use_in(every->body);
      } else if (const auto* stop = std::get_if<ast::StopStmt>(&statement.data)) {
        use(stop->after);
      }
    }
  }

  void use(const std::optional<ast::Settings>& settings, const std::vector<const SettingSpec*>& specs) {
    if (!settings) return;
    for (const ast::Setting& setting : settings->list) {
      if (setting.value) use_value(*setting.value, find_setting(specs, setting.name.text));
    }
  }

  // A bare word of the setting's set is that word; only else it may be a parameter.
  void use_value(const ast::Expr& value, const SettingSpec* spec) {
    const auto* reference = std::get_if<ast::Reference>(&value.data);
    if (spec != nullptr && reference != nullptr && has_word(*spec, reference->name.text)) return;
    if (const auto* list = std::get_if<ast::ListExpr>(&value.data); list != nullptr && spec != nullptr) {
      for (const ast::Expr& item : list->items) use_value(item, spec);
      return;
    }
    const auto* call = std::get_if<ast::Call>(&value.data);
    const CallSpec* known = spec != nullptr && call != nullptr ? find_call(*spec, call->callee.text) : nullptr;
    if (known == nullptr) return use(value);
    for (std::size_t i = 0; i < call->arguments.size(); ++i) {
      const ast::Argument& argument = call->arguments[i];
      use_value(argument.value, call_argument(*known, i, argument.name ? argument.name->text : ""));
    }
  }

  void use_all(const std::vector<ast::Expr>& list) {
    for (const ast::Expr& item : list) use(item);
  }

  void use(const ast::Call& call) {
    for (const ast::Argument& argument : call.arguments) use(argument.value);
  }

  void use(const ast::Expr& expr) {
    if (const auto* reference = std::get_if<ast::Reference>(&expr.data)) {
      use(reference->name);
      if (reference->index) use_all(reference->index->items);
    } else if (const auto* list = std::get_if<ast::ListExpr>(&expr.data)) {
      use_all(list->items);
    } else if (const auto* call = std::get_if<ast::Call>(&expr.data)) {
      use(*call);
    } else if (const auto* unary = std::get_if<ast::Unary>(&expr.data)) {
      use_all(unary->operand);
    } else if (const auto* binary = std::get_if<ast::Binary>(&expr.data)) {
      use_all(binary->operands);
    } else if (const auto* range = std::get_if<ast::RangeExpr>(&expr.data)) {
      use_all(range->ends);
    }
  }

  // Each part of `gsm.train` is a use of its own: the alias here, the name in the file it stands for.
  void use(const ast::Name& name) {
    if (!name.span.valid()) return;
    std::string_view text = analysis_.sources.file(name.span.file).text;
    FileId file = name.span.file;
    std::size_t place = name.span.begin;
    for (std::size_t begin = 0; begin <= name.text.size();) {
      std::size_t dot = std::min(name.text.find('.', begin), name.text.size());
      std::string part = name.text.substr(begin, dot - begin);
      place = text.find(part, place);
      auto found = index_.names_[file].find(part);
      if (place == std::string_view::npos || found == index_.names_[file].end()) return;
      auto byte = static_cast<std::uint32_t>(place);
      auto length = static_cast<std::uint32_t>(part.size());
      index_.occurrences_.push_back({{name.span.file, byte, byte + length}, found->second, false});
      auto import = index_.imports_[file].find(part);
      if (import == index_.imports_[file].end()) return;
      file = import->second;
      place += part.size();
      begin = dot + 1;
    }
  }

  const Analysis& analysis_;
  const Catalog& catalog_;
  NameIndex& index_;
};

NameIndex::NameIndex(const Analysis& analysis, const Catalog& catalog) { NameWalk(analysis, catalog, *this).run(); }

const Occurrence* NameIndex::at(FileId file, std::uint32_t byte) const {
  const Occurrence* best = nullptr;
  for (const Occurrence& occurrence : occurrences_) {
    if (occurrence.span.file != file || byte < occurrence.span.begin || byte > occurrence.span.end) continue;
    if (best == nullptr || byte < occurrence.span.end) best = &occurrence;
  }
  return best;
}

const Definition* NameIndex::find(FileId file, const std::string& name) const {
  auto names = names_.find(file);
  if (names == names_.end()) return nullptr;
  auto found = names->second.find(name);
  return found == names->second.end() ? nullptr : &definitions_[found->second];
}

std::map<std::string, const Definition*> NameIndex::visible(FileId file) const {
  std::map<std::string, const Definition*> names;
  collect_visible(file, "", 0, names);
  return names;
}

std::optional<FileId> NameIndex::imported_at(const Analysis& analysis, std::uint32_t byte) const {
  if (analysis.files.empty()) return std::nullopt;  // it could not be read
  for (const ast::Decl& declaration : analysis.files[0].decls) {
    const auto* import = std::get_if<ast::ImportDecl>(&declaration.data);
    if (import == nullptr || byte < import->path_span.begin || byte > import->path_span.end) continue;
    auto imports = imports_.find(analysis.files[0].id);
    if (imports == imports_.end()) return std::nullopt;
    auto target = imports->second.find(import->alias.text);
    if (target != imports->second.end()) return target->second;
  }
  return std::nullopt;
}

void NameIndex::collect_visible(FileId file, const std::string& prefix, int depth,
                                std::map<std::string, const Definition*>& names) const {
  constexpr int kDeepest = 4;  // imports that go in a circle are an error, but editors see them too
  if (auto own = names_.find(file); own != names_.end()) {
    for (const auto& [name, index] : own->second) names.emplace(prefix + name, &definitions_[index]);
  }
  auto imports = imports_.find(file);
  if (imports == imports_.end() || depth == kDeepest) return;
  for (const auto& [alias, target] : imports->second) collect_visible(target, prefix + alias + ".", depth + 1, names);
}

}  // namespace rlflow::lsp
