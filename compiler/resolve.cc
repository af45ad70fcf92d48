// Resolves declarations, module by module: imports first, each file in the order written.
#include "compiler/resolve.h"

#include <algorithm>
#include <utility>

#include "compiler/evaluate.h"
#include "compiler/names.h"
#include "compiler/params.h"
#include "compiler/resolve_parts.h"
#include "compiler/settings.h"

namespace rlflow {
namespace {

class DeclarationResolver {
 public:
  DeclarationResolver(const Module& module, const Catalog& catalog, const SourceMap& sources, Overrides& overrides,
                      Pipeline& pipeline, Scope& scope, Diagnostics& diagnostics)
      : module_(module),
        catalog_(catalog),
        sources_(sources),
        overrides_(overrides),
        pipeline_(pipeline),
        scope_(scope),
        evaluator_(scope, pipeline.params, diagnostics),
        diagnostics_(diagnostics) {}

  void run(const ast::File& file) {
    const ast::FlowDecl* flow = nullptr;
    for (const ast::Decl& declaration : file.decls) {
      std::visit([&](const auto& d) { announce(d); }, declaration.data);
    }
    for (const ast::Name& name : file.unread)
      scope_.unread.emplace(name.text, Symbol{SymbolKind::broken, -1, 0, name.span});
    for (const ast::Decl& declaration : file.decls) {
      std::visit([&](const auto& d) { declare(d, declaration.span, flow); }, declaration.data);
    }
  }

 private:
  bool define(const ast::Name& name, SymbolKind kind, std::size_t index) {
    Symbol symbol{kind, static_cast<std::int32_t>(index), 0, name.span};
    return define_symbol(scope_, name, symbol, diagnostics_);
  }
  std::string full(const ast::Name& name) const { return module_.prefix + name.text; }

  template <class Declaration>
  void announce(const Declaration& d) {
    if constexpr (requires { d.name; }) scope_.declared.emplace(d.name.text, d.name.span);
  }

  void declare(const ast::ImportDecl& d, Span, const ast::FlowDecl*&) {
    auto target = module_.imports.find(d.alias.text);
    define(d.alias, target == module_.imports.end() ? SymbolKind::broken : SymbolKind::import, 0);
  }

  void declare(const ast::BrokenDecl& d, Span, const ast::FlowDecl*&) {
    for (const ast::Name& name : d.defines) define(name, SymbolKind::broken, 0);
  }

  void declare(const ast::FlowDecl& d, Span, const ast::FlowDecl*& first) {
    if (first != nullptr) {
      diagnostics_.error("E0211", d.name.span, "a file has one flow, and this is its second")
          .at(first->name.span, "the first")
          .help("move `" + d.name.text + "` into a file of its own; `import` shares declarations");
      return;
    }
    first = &d;
  }

  void declare(const ast::ParamDecl& d, Span span, const ast::FlowDecl*&) {
    Param param = resolve_param(d, span, full(d.name), evaluator_, overrides_, sources_);
    if (define(d.name, SymbolKind::param, pipeline_.params.size())) pipeline_.params.push_back(std::move(param));
  }

  void declare(const ast::GroupDecl& d, Span span, const ast::FlowDecl*&) {
    Group group;
    group.name = full(d.name);
    group.span = span;
    group.name_span = d.name.span;
    read_devices({d.device, d.index}, group);
    if (const Override* given = overrides_.take(group.name, "the devices of a group")) override_devices(*given, group);
    SettingsOwner owner{
        "group `" + group.name + "`", group.name, pointers(catalog_.group_settings), {}, d.name.span, {}};
    BoundSettings bound = bind_settings(settings_of(d.settings), owner, evaluator_, overrides_, sources_);
    group.settings = std::move(bound.values);
    group.known = group.known && bound.complete;
    share_devices(group, diagnostics_);
    if (define(d.name, SymbolKind::group, pipeline_.groups.size())) pipeline_.groups.push_back(std::move(group));
  }

  void read_devices(const ast::Reference& devices, Group& group) {
    DeviceRange range = read_device_range(devices, evaluator_);
    group.devices_span = devices.name.span;
    if (devices.index) group.devices_span.end = devices.index->span.end;
    group.known = range.known;
    group.device = range.device;
    group.first = range.first;
    group.last = range.last;
  }

  void override_devices(const Override& given, Group& group) {
    const ast::Expr* expr = overrides_.value(given, sources_, diagnostics_);
    group.known = false;
    if (expr == nullptr) return;
    if (const auto* devices = std::get_if<ast::Reference>(&expr->data)) return read_devices(*devices, group);
    diagnostics_.error("E0506", given.value_span, "a group is given devices: `cpu`, `gpu[0..4]`");
  }

  void declare(const ast::ModelDecl& d, Span span, const ast::FlowDecl*&) {
    Model model;
    model.name = full(d.name);
    model.span = span;
    model.name_span = d.name.span;
    if (d.group) model.group = group_of(*d.group);
    if (d.source.callee.text == "base_of") {
      declare_base(d, model);
    } else {
      model.known = read_model_source(d.source, evaluator_, model) && model.group.valid();
      bind(d, catalog_.model_settings, "", model);
      read_model_settings(model, diagnostics_);
    }
    if (define(d.name, SymbolKind::model, pipeline_.models.size())) pipeline_.models.push_back(std::move(model));
  }

  void bind(const ast::ModelDecl& d, const std::vector<SettingSpec>& specs, std::string why_no_more, Model& model) {
    SettingsOwner owner{"model `" + model.name + "`", model.name, pointers(specs), {}, d.name.span, {},
                        std::move(why_no_more)};
    BoundSettings bound = bind_settings(settings_of(d.settings), owner, evaluator_, overrides_, sources_);
    model.settings = std::move(bound.values);
    model.known = model.known && bound.complete;
  }

  // What adapters are added to: all but its settings is as in the model that has them.
  void declare_base(const ast::ModelDecl& d, Model& model) {
    model.base_of = read_adapted(d.source, d.name.text, scope_, pipeline_, diagnostics_);
    model.known = model.base_of.valid() && (!d.group || model.group.valid());
    bind(d, catalog_.base_settings, "a base is frozen, and all but these it has of the model: dtype, head, folder",
         model);
    if (!model.base_of.valid()) return;
    const Model& adapted = pipeline_.models[model.base_of.index()];
    model.loader = adapted.loader;
    model.path = adapted.path;
    model.init_seed = adapted.init_seed;
    model.path_span = d.source.arguments[0].span;
    if (!d.group) model.group = adapted.group;
    model.dtype = adapted.dtype;
    model.head = adapted.head;
    model.known = model.known && adapted.known;
    for (const char* name : {"dtype", "head", "master", "template"}) {
      const Value* value = setting(adapted.settings, name);
      if (value != nullptr) model.settings[name].value = *value;
    }
  }

  void declare(const ast::ReplicaDecl& d, Span span, const ast::FlowDecl*&) {
    Replica replica;
    replica.name = full(d.name);
    replica.span = span;
    replica.name_span = d.name.span;
    replica.group = group_of(d.group);
    if (const Symbol* symbol = expect_symbol(scope_, d.model, SymbolKind::model, diagnostics_)) {
      replica.model = ModelId(symbol->index);
    }
    SettingsOwner owner{
        "replica `" + replica.name + "`", replica.name, pointers(catalog_.replica_settings), {}, d.name.span, {}};
    BoundSettings bound = bind_settings(settings_of(d.settings), owner, evaluator_, overrides_, sources_);
    replica.settings = std::move(bound.values);
    replica.known = bound.complete && replica.group.valid() && replica.model.valid();
    if (replica.model.valid()) replica.dtype = pipeline_.models[replica.model.index()].dtype;
    const Value* dtype = setting(replica.settings, "dtype");
    if (dtype != nullptr && dtype->get<Word>())
      replica.dtype = dtype->get<Word>()->name == "bf16" ? Dtype::bf16 : Dtype::f32;
    if (define(d.name, SymbolKind::replica, pipeline_.replicas.size()))
      pipeline_.replicas.push_back(std::move(replica));
  }

  void declare(const ast::DataDecl& d, Span span, const ast::FlowDecl*&) {
    Source source = read_source(d.name, d.source, d.settings, span, catalog_.data, SymbolKind::data);
    if (define(d.name, SymbolKind::data, pipeline_.data.size())) pipeline_.data.push_back(std::move(source));
  }

  void declare(const ast::RewardDecl& d, Span span, const ast::FlowDecl*&) {
    Source source = read_source(d.name, d.source, d.settings, span, catalog_.rewards, SymbolKind::reward);
    if (define(d.name, SymbolKind::reward, pipeline_.rewards.size())) pipeline_.rewards.push_back(std::move(source));
  }

  Source read_source(const ast::Name& name, const ast::Call& call, const std::optional<ast::Settings>& settings,
                     Span span, const std::vector<SourceSignature>& known, SymbolKind kind) {
    Source source;
    source.name = full(name);
    source.span = span;
    source.name_span = name.span;
    resolve_source(call, known, kind, evaluator_, source);
    if (source.signature == nullptr) return source;
    std::string what = source.signature->name.empty() ? source.source : source.signature->name;
    SettingsOwner owner{"`" + what + "`", source.name, pointers(source.signature->settings), {}, call.span, {}};
    BoundSettings bound = bind_settings(settings_of(settings), owner, evaluator_, overrides_, sources_);
    source.settings = std::move(bound.values);
    source.known = bound.complete;
    return source;
  }

  GroupId group_of(const ast::Name& name) {
    const Symbol* symbol = expect_symbol(scope_, name, SymbolKind::group, diagnostics_);
    if (symbol == nullptr) return {};
    pipeline_.groups[static_cast<std::size_t>(symbol->index)].used = true;
    return GroupId(symbol->index);
  }

  static const ast::Settings* settings_of(const std::optional<ast::Settings>& settings) {
    return settings ? &*settings : nullptr;
  }

  const Module& module_;
  const Catalog& catalog_;
  const SourceMap& sources_;
  Overrides& overrides_;
  Pipeline& pipeline_;
  Scope& scope_;
  Evaluator evaluator_;
  Diagnostics& diagnostics_;
};

}  // namespace

void resolve_declarations(const Loaded& loaded, const std::vector<ast::File>& files, const Catalog& catalog,
                          const SourceMap& sources, Overrides& overrides, Pipeline& pipeline,
                          std::vector<Scope>& scopes, Diagnostics& diagnostics) {
  scopes.resize(loaded.modules.size());
  for (std::size_t m : loaded.order) {
    for (const auto& [alias, target] : loaded.modules[m].imports) scopes[m].imports[alias] = &scopes[target];
    DeclarationResolver(loaded.modules[m], catalog, sources, overrides, pipeline, scopes[m], diagnostics).run(files[m]);
  }
}

}  // namespace rlflow
