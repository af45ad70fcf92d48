// Binds settings: unknown and misplaced ones are reported, overrides applied, defaults filled in.
#include "compiler/settings.h"

#include <algorithm>

#include "compiler/names.h"

namespace rlflow {
namespace {

class Binder {
 public:
  Binder(const SettingsOwner& owner, Evaluator& evaluator, Overrides& overrides, const SourceMap& sources)
      : owner_(owner), evaluator_(evaluator), overrides_(overrides), sources_(sources) {}

  BoundSettings run(const ast::Settings* block) {
    if (block != nullptr) {
      result_.complete = !block->broken;
      for (const ast::Setting& setting : block->list) bind(setting, *block);
    }
    for (const SettingSpec* spec : owner_.specs) {
      override_whole(*spec);
      override_arguments(*spec);
      fill(*spec);
    }
    return std::move(result_);
  }

 private:
  void bind(const ast::Setting& setting, const ast::Settings& block) {
    const SettingSpec* spec = find(setting.name.text);
    if (spec == nullptr) {
      result_.complete = false;
      return report_unknown(setting, block);
    }
    auto [entry, fresh] = result_.values.emplace(spec->name, Setting{{}, Origin::source, setting.span, setting.span});
    if (!fresh) {
      result_.complete = false;
      evaluator_.diagnostics()
          .error("E0318", setting.name.span, "`" + spec->name + "` of " + owner_.what + " is given twice")
          .at(entry->second.span, "first here");
      return;
    }
    if (setting.value) entry->second.value_span = setting.value->span;
    const ast::Expr* expr = setting.value ? &*setting.value : nullptr;
    store(entry->second, evaluator_.setting(*spec, expr, setting.span, owner_.what));
    note_arguments(*spec, expr, entry->second);
  }

  // Which arguments of a call were written, by whoever wrote the call.
  static void note_arguments(const SettingSpec& spec, const ast::Expr* expr, Setting& setting) {
    const auto* call = expr ? std::get_if<ast::Call>(&expr->data) : nullptr;
    if (call == nullptr || setting.value.is_null()) return;
    for (const std::string& name : written_arguments(spec, *call)) setting.arguments[name] = setting.origin;
  }

  // A value that could not be found stays null; what asks for it later finds none and is silent.
  void store(Setting& setting, std::optional<Value> value) {
    if (!value) result_.complete = false;
    setting.value = value.value_or(Value());
  }

  const SettingSpec* find(const std::string& name) const {
    for (const SettingSpec* spec : owner_.specs) {
      if (spec->name == name) return spec;
    }
    return nullptr;
  }

  void report_unknown(const ast::Setting& setting, const ast::Settings& block) {
    const std::string& name = setting.name.text;
    Diagnostics& diagnostics = evaluator_.diagnostics();
    if (std::find(owner_.arguments.begin(), owner_.arguments.end(), name) != owner_.arguments.end()) {
      std::string moved = std::string(sources_.text(setting.value ? setting.value->span : Span{}));
      Diagnostic& message = diagnostics.error("E0311", setting.name.span,
                                              "`" + name + "` of " + owner_.what + " stands in ( ), not in { }");
      message.label("not a setting").note("inputs and what fixes a shape stand in ( ), all else in { }");
      Span close{owner_.call_close.file, owner_.call_close.begin, owner_.call_close.begin};
      if (owner_.call_close.valid() && setting.value) {
        message.fix("move it: `" + name + "=" + moved + "`", Applicability::safe,
                    {{close, ", " + name + "=" + moved}, {removal_span(setting, block, sources_), ""}});
      }
      return;
    }
    std::vector<std::string> names;
    for (const SettingSpec* spec : owner_.specs) names.push_back(spec->name);
    Diagnostic& message = diagnostics.error("E0308", setting.name.span, owner_.what + " has no setting `" + name + "`");
    if (!owner_.why_no_more.empty()) {
      message.note(owner_.why_no_more);
      return;
    }
    for (const SettingSpec* spec : owner_.specs) {
      const bool takes = std::any_of(spec->calls.begin(), spec->calls.end(),
                                     [&](const CallSpec& call) { return setting.is_call && call.name == name; });
      if (!takes) continue;
      message.fix("write `" + spec->name + " = " + name + "(...)`", Applicability::safe,
                  {{{setting.span.file, setting.span.begin, setting.span.begin}, spec->name + " = "}});
      return;
    }
    suggest(message, name, setting.name.span, names, "settings");
    if (message.fixes.empty() && message.notes.empty()) message.note("its settings are " + quoted_list(names, "and"));
  }

  void override_whole(const SettingSpec& spec) {
    std::string address = owner_.address + "." + spec.name;
    const Override* given = overrides_.take(address, describe(spec));
    if (given == nullptr) return;
    Setting& setting = result_.values[spec.name];
    setting = {{}, given->origin, given->span, given->value_span};
    if (spec.type == SettingType::text && given->is_text) return store(setting, Value(given->text));
    const ast::Expr* expr = overrides_.value(*given, sources_, evaluator_.diagnostics());
    store(setting, expr ? evaluator_.setting(spec, expr, given->span, owner_.what) : std::nullopt);
    note_arguments(spec, expr, setting);
  }

  // `policy.optim.lr=2e-6` changes one argument of the call that the setting holds.
  void override_arguments(const SettingSpec& spec) {
    if (spec.calls.empty()) return;
    auto held = result_.values.find(spec.name);
    CallValue* call = held == result_.values.end() ? nullptr : std::get_if<CallValue>(&held->second.value.data);
    if (call == nullptr) return;
    for (const CallSpec& known : spec.calls) {
      if (known.name != call->name) continue;
      for (const SettingSpec& argument : known.arguments) {
        const Override* given =
            overrides_.take(owner_.address + "." + spec.name + "." + argument.name, describe(argument));
        if (given == nullptr) continue;
        const ast::Expr* expr = overrides_.value(*given, sources_, evaluator_.diagnostics());
        std::optional<Value> value;
        if (expr != nullptr) value = evaluator_.setting(argument, expr, given->span, "`" + known.name + "`");
        if (!value) result_.complete = false;
        if (value) call->named[argument.name] = *value;
        held->second.arguments[argument.name] = given->origin;
      }
    }
  }

  void fill(const SettingSpec& spec) {
    if (result_.values.count(spec.name) > 0) return;
    if (spec.fallback) {
      result_.values[spec.name].value = *spec.fallback;
    } else if (!spec.optional && result_.complete) {
      evaluator_.diagnostics()
          .error("E0315", owner_.place, owner_.what + " needs the setting `" + spec.name + "`")
          .note("`" + spec.name + "`: " + spec.doc)
          .help("add `" + spec.name + " = ...` in { }; it is " + describe(spec));
    }
  }

  const SettingsOwner& owner_;
  Evaluator& evaluator_;
  Overrides& overrides_;
  const SourceMap& sources_;
  BoundSettings result_;
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

Span removal_span(const ast::Setting& setting, const ast::Settings& block, const SourceMap& sources) {
  const std::string& text = sources.file(block.span.file).text;
  Span span = setting.span;
  std::uint32_t after = span.end;
  while (after < block.span.end && is_blank(text[after])) ++after;
  if (after < block.span.end && text[after] == ',') {
    span.end = after + 1;
    while (span.end < block.span.end && is_blank(text[span.end])) ++span.end;
    return span;
  }
  std::uint32_t before = span.begin;
  while (before > block.span.begin && is_blank(text[before - 1])) --before;
  if (before > block.span.begin && text[before - 1] == ',') span.begin = before - 1;
  return span;
}

BoundSettings bind_settings(const ast::Settings* block, const SettingsOwner& owner, Evaluator& evaluator,
                            Overrides& overrides, const SourceMap& sources) {
  return Binder(owner, evaluator, overrides, sources).run(block);
}

}  // namespace rlflow
