// One function a position: declaration, statement, clause, argument, setting, value.
#include "cli/lsp/completion.h"

#include <algorithm>

#include "cli/catalog_text.h"
#include "cli/lsp/call_place.h"
#include "cli/lsp/described.h"
#include "cli/lsp/owner.h"
#include "compiler/metric_inputs.h"

namespace rlflow::lsp {
namespace {

class Completer {
 public:
  Completer(const Cursor& cursor, const Analysis& analysis, const NameIndex& names, const Catalog& catalog)
      : cursor_(cursor),
        analysis_(analysis),
        names_(names),
        catalog_(catalog),
        visible_(names.visible(FileId(std::size_t{0}))) {}

  std::vector<Completion> run() {
    if (cursor_.in_comment()) return {};
    if (cursor_.in_string()) {
      source_names();
    } else {
      place();
    }
    return std::move(list_);
  }

 private:
  void add(const std::string& label, CompletionKind kind, std::string detail = "", std::string doc = "",
           std::string insert = "") {
    bool known = std::any_of(list_.begin(), list_.end(), [&](const Completion& other) { return other.label == label; });
    if (!known) list_.push_back({label, kind, std::move(detail), std::move(doc), std::move(insert)});
  }

  void add_all(std::initializer_list<const char*> labels, CompletionKind kind) {
    for (const char* label : labels) add(label, kind);
  }

  void add_name(const std::string& name, const Definition& definition) {
    add(name, CompletionKind::name, declaration_line(definition, analysis_.pipeline),
        describe(definition, analysis_.pipeline));
  }

  void names_of(SymbolKind kind) {
    for (const auto& [name, definition] : visible_) {
      if (definition->kind == kind) add_name(name, *definition);
    }
  }

  void expression() {
    names_of(SymbolKind::param);
    add_all({"min", "max"}, CompletionKind::function);
    add_all({"true", "false", "not"}, CompletionKind::word);
  }

  // ---- positions

  void place() {
    const Frame* top = cursor_.top();
    if (top == nullptr) return cursor_.starts_statement() ? declarations() : in_declaration();
    switch (top->bracket) {
      case Bracket::block: return cursor_.starts_statement() ? statements() : in_statement();
      case Bracket::settings: return in_settings(*top);
      case Bracket::call: return in_call(*top);
      case Bracket::index:
      case Bracket::set: return names_of(SymbolKind::param);
    }
  }

  void declarations() {
    if (cursor_.opens_file()) add("rlflow 1", CompletionKind::keyword, "the version of the language comes first");
    add_all({"param", "group", "model", "replica", "data", "reward", "import"}, CompletionKind::keyword);
    if (analysis_.pipeline.flow.empty()) add("flow", CompletionKind::keyword);
  }

  void statements() {
    if (!cursor_.in_every()) {
      add("sync", CompletionKind::keyword, "sync MODEL -> REPLICA every N steps lag L");
      add("every", CompletionKind::keyword, "every N steps { … }");
      add("stop after", CompletionKind::keyword, "stop after N");
    }
    for (const NodeSignature& signature : catalog_.nodes) {
      bool effect = std::none_of(signature.outputs.begin(), signature.outputs.end(),
                                 [](const OutputSpec& output) { return !output.carried; });
      if (effect && signature.only_in_every == cursor_.in_every()) add_op(signature);
    }
  }

  void add_op(const NodeSignature& signature) {
    add(signature.op, CompletionKind::function, call_text(signature), describe(signature));
  }

  void ops() {
    for (const NodeSignature& signature : catalog_.nodes) {
      if (cursor_.in_every() || !signature.only_in_every) add_op(signature);
    }
  }

  void in_declaration() {
    const std::string_view keyword = cursor_.statement_word(0), before = cursor_.before(0);
    if (before == "on") return names_of(SymbolKind::group);
    if (keyword == "param" && before == ":") {
      return add_all({"int", "float", "bool", "string", "path", "word", "duration", "tokens", "seqs", "bytes"},
                     CompletionKind::type);
    }
    if (before == "=") return sources(keyword);
    if (keyword == "param" && cursor_.statement_has("=")) {
      if (!cursor_.statement_has("in") && before.find_first_of("+-*/%<>") == std::string_view::npos)
        add("in", CompletionKind::keyword, "in lo..hi, both ends included");
      return names_of(SymbolKind::param);
    }
    bool placed = keyword == "model" || keyword == "replica";
    if (placed && cursor_.statement_has("=") && !cursor_.statement_has("on")) add("on", CompletionKind::keyword);
    if (keyword == "import" && !cursor_.statement_has("as")) add("as", CompletionKind::keyword);
  }

  void sources(std::string_view keyword) {
    if (keyword == "param") return expression();
    if (keyword == "replica") return names_of(SymbolKind::model);
    if (keyword == "group") {
      add("cpu", CompletionKind::word);
      return add("gpu", CompletionKind::word, "gpu[first..end], the end excluded");
    }
    if (keyword == "model") {
      add("load", CompletionKind::function, "load(\"path\"): a folder with its weights");
      return add("init", CompletionKind::function, "init(\"path\", seed=1): random weights");
    }
    for (const SourceSignature& source : keyword == "data" ? catalog_.data : catalog_.rewards) {
      std::string argument = source.name.empty() ? "" : "\"" + source.name + "\"";
      if (keyword == "data" || keyword == "reward") {
        add(source.source + "(" + argument + ")", CompletionKind::function, source.doc, describe(source));
      }
    }
  }

  void source_names() {
    const Frame* top = cursor_.top();
    if (top == nullptr || top->bracket != Bracket::call || top->commas > 0) return;
    const std::string_view keyword = cursor_.statement_word(0);
    if (cursor_.call_at(top->open).callee != "builtin") return;
    for (const SourceSignature& source : keyword == "data" ? catalog_.data : catalog_.rewards) {
      if (!source.name.empty()) add(source.name, CompletionKind::text, source.doc, describe(source));
    }
  }

  void in_statement() {
    const std::string_view keyword = cursor_.statement_word(0), before = cursor_.before(0);
    if (keyword == "sync") return in_sync(before);
    if (keyword == "every") {
      if (before == "every") return names_of(SymbolKind::param);
      return add_all({"steps", "step", "and at start"}, CompletionKind::keyword);
    }
    if (keyword == "stop")
      return before == "stop" ? add("after", CompletionKind::keyword) : names_of(SymbolKind::param);
    if (before == "on") return names_of(SymbolKind::group);
    if (before == "=") return ops();
    if (before == ":") return kinds();
    if (cursor_.statement_has("when")) return expression();
    if (before != ")") return;
    if (!cursor_.statement_has("on")) add("on", CompletionKind::keyword, "on GROUP");
    add("when", CompletionKind::keyword, "when CONDITION: else the node is removed");
  }

  void in_sync(std::string_view before) {
    if (before == "sync") return names_of(SymbolKind::model);
    if (before == "->") return names_of(SymbolKind::replica);
    if (before == "every" || before == "lag" || before == "<=") return names_of(SymbolKind::param);
    if (!cursor_.statement_has("->")) return;
    if (!cursor_.statement_has("every")) return add("every", CompletionKind::keyword);
    if (cursor_.before(1) == "every") add_all({"step", "steps"}, CompletionKind::unit);
    if (!cursor_.statement_has("lag")) add("lag", CompletionKind::keyword);
  }

  void kinds() {
    for (Kind kind : kAllKinds) {
      if (kind != Kind::cursor) add(std::string(kind_name(kind)), CompletionKind::type, "", describe(kind));
    }
  }

  // ---- arguments

  void in_call(const Frame& frame) {
    WrittenCall call = cursor_.call_at(frame.open);
    if (const Frame* settings = settings_around(cursor_, frame)) return in_call_value(*settings, frame, call.callee);
    if (call.callee == "init") return add("seed=", CompletionKind::setting);
    if (call.callee == "load") return names_of(SymbolKind::param);
    if (!cursor_.in_flow()) return;
    if (call.callee == "prev") return previous(frame);
    std::string named = cursor_.item_name(frame);
    for (const NodeSignature* signature :
         fitting_signatures(without_current(call, frame), analysis_, names_, catalog_)) {
      if (const ArgumentSpec* spec = argument_at(*signature, call, frame, named)) names_for(*spec);
      if (cursor_.starts_item()) missing_names(*signature, call);
    }
  }

  void names_for(const ArgumentSpec& spec) {
    switch (spec.role) {
      case ArgumentRole::edge: return outputs_for(spec);
      case ArgumentRole::data: return names_of(SymbolKind::data);
      case ArgumentRole::replica: return names_of(SymbolKind::replica);
      case ArgumentRole::reward: return names_of(SymbolKind::reward);
      case ArgumentRole::constant: return names_of(SymbolKind::param);
      case ArgumentRole::model:
      case ArgumentRole::trainable: return models_for(spec);
    }
  }

  void models_for(const ArgumentSpec& spec) {
    for (const auto& [name, definition] : visible_) {
      if (definition->kind != SymbolKind::model) continue;
      bool frozen =
          std::any_of(analysis_.pipeline.models.begin(), analysis_.pipeline.models.end(),
                      [&](const Model& m) { return m.name_span == definition->span && m.known && !m.trainable; });
      if (spec.role == ArgumentRole::model || !frozen) add_name(name, *definition);
    }
  }

  static bool takes(const ArgumentSpec& spec, Kind kind) {
    return std::find(spec.kinds.begin(), spec.kinds.end(), kind) != spec.kinds.end();
  }

  // `step.loss`, `step.entropy`, …: those that the node reports.
  void metrics_of(const std::string& name, const OutputPlace& place) {
    for (const MetricSpec* metric : reported_metrics(*place.node, *place.output))
      add(name + "." + metric->name, CompletionKind::name, "a number of `" + place.node->op + "`");
  }

  // Outputs of this kind that are made before this statement.
  void outputs_for(const ArgumentSpec& spec) {
    for (const auto& [name, definition] : visible_) {
      if (definition->kind != SymbolKind::output || definition->span.begin >= cursor_.statement_begin()) continue;
      OutputPlace place = output_at(analysis_.pipeline, definition->span);
      if (place.output == nullptr || !place.output->known) continue;
      if (takes(spec, place.output->kind)) add_name(name, *definition);
      if (takes(spec, Kind::scalar)) metrics_of(name, place);
    }
    if (takes(spec, Kind::scalar)) add("prev", CompletionKind::function, "prev(x, init=v): the value of the last step");
  }

  void missing_names(const NodeSignature& signature, const WrittenCall& call) {
    for (const ArgumentSpec& spec : signature.arguments) {
      bool given = std::any_of(call.arguments.begin(), call.arguments.end(),
                               [&](const GivenArgument& argument) { return argument.name == spec.name; });
      if (spec.named_only && !given) add(spec.name + "=", CompletionKind::setting, spec.doc);
    }
  }

  void previous(const Frame& frame) {
    if (frame.commas > 0) {
      if (cursor_.starts_item()) return add("init=", CompletionKind::setting, "the value in the first step");
      return names_of(SymbolKind::param);
    }
    for (const auto& [name, definition] : visible_) {
      OutputPlace place = output_at(analysis_.pipeline, definition->span);
      if (place.output == nullptr) continue;
      if (!place.output->known || place.output->kind == Kind::scalar) add_name(name, *definition);
      metrics_of(name, place);
    }
  }

  // ---- settings

  void in_settings(const Frame& frame) {
    BlockOwner owner = block_owner(cursor_, analysis_, names_, catalog_);
    if (cursor_.starts_item()) {
      std::vector<std::string> given = cursor_.settings_given(frame);
      for (const SettingSpec* spec : owner.settings) {
        if (std::find(given.begin(), given.end(), spec->name) == given.end()) add_setting(*spec, owner.name, " = ");
      }
      return;
    }
    const SettingSpec* spec = find_setting(owner.settings, cursor_.item_name(frame));
    if (spec != nullptr) value_of(*spec);
  }

  void add_setting(const SettingSpec& spec, const std::string& owner, const std::string& assign) {
    std::string insert = spec.type == SettingType::boolean ? spec.name : spec.name + assign;
    add(spec.name, CompletionKind::setting, values_text(spec) + "; default " + default_text(spec),
        describe(spec, owner, nullptr), insert);
  }

  // Inside `optim = adamw(lr=|`.
  void in_call_value(const Frame& settings, const Frame& frame, const std::string& callee) {
    BlockOwner owner = block_owner(cursor_, analysis_, names_, catalog_);
    const SettingSpec* spec = find_setting(owner.settings, cursor_.item_name(settings));
    if (spec == nullptr) return;
    const CallSpec* call = called(cursor_, *spec, frame, callee);
    if (call == nullptr) return;
    std::string named = cursor_.item_name(frame);
    if (cursor_.starts_item()) {
      for (const SettingSpec& argument : call->arguments) add_setting(argument, "`" + call->name + "`", "=");
    }
    const SettingSpec* argument = call_argument(*call, frame.commas, named);
    if (argument != nullptr) value_of(*argument);
  }

  void value_of(const SettingSpec& spec) {
    bool behind_number = !cursor_.before(0).empty() && cursor_.before(0).find_first_of("0123456789") == 0;
    switch (spec.type) {
      case SettingType::boolean: return add_all({"true", "false"}, CompletionKind::word);
      case SettingType::duration: return units(behind_number, {"ms", "s", "m", "h"});
      case SettingType::tokens: return units(behind_number, {"tokens"});
      case SettingType::seqs: return units(behind_number, {"seqs"});
      case SettingType::bytes: return units(behind_number, {"B", "KiB", "MiB", "GiB"});
      case SettingType::word:
      case SettingType::call: return words(spec);
      case SettingType::word_or_real:
      case SettingType::real_or_call: words(spec); break;
      case SettingType::integer:
      case SettingType::real:
      case SettingType::text:
      case SettingType::int_range:
      case SettingType::real_list: break;
    }
    if (!behind_number) names_of(SymbolKind::param);
  }

  void words(const SettingSpec& spec) {
    for (const std::string& word : spec.words) {
      bool runs = std::find(spec.not_executable.begin(), spec.not_executable.end(), word) == spec.not_executable.end();
      add(word, CompletionKind::word, runs ? "" : "checked and planned, not executed by this version");
    }
    for (const CallSpec& call : spec.calls) add(call.name, CompletionKind::function, call.doc, describe(call));
  }

  void units(bool behind_number, std::initializer_list<const char*> names) {
    if (behind_number) return add_all(names, CompletionKind::unit);
    names_of(SymbolKind::param);
  }

  const Cursor& cursor_;
  const Analysis& analysis_;
  const NameIndex& names_;
  const Catalog& catalog_;
  std::map<std::string, const Definition*> visible_;
  std::vector<Completion> list_;
};

}  // namespace

std::vector<Completion> complete(const Cursor& cursor, const Analysis& analysis, const NameIndex& names,
                                 const Catalog& catalog) {
  return Completer(cursor, analysis, names, catalog).run();
}

}  // namespace rlflow::lsp
