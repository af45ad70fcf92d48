// Calls as values of settings: `adamw(lr=1e-4)` with every argument filled in.
#include <algorithm>

#include "compiler/evaluate.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

// The argument of the call that `given` is for; null where there is none. A bare name of a true-or-false
// argument (`decay_all`) means true.
struct Target {
  const SettingSpec* spec = nullptr;
  bool flag = false;
};

const SettingSpec* find_argument(const CallSpec& spec, const std::string& name) {
  auto found = std::find_if(spec.arguments.begin(), spec.arguments.end(),
                            [&](const SettingSpec& argument) { return argument.name == name; });
  return found == spec.arguments.end() ? nullptr : &*found;
}

Target target_of(const CallSpec& spec, const ast::Argument& given, std::size_t& position) {
  if (given.name) return {find_argument(spec, given.name->text), false};
  if (const auto* bare = std::get_if<ast::Reference>(&given.value.data)) {
    const SettingSpec* flag = find_argument(spec, bare->name.text);
    if (flag != nullptr && flag->type == SettingType::boolean) return {flag, true};
  }
  if (position >= spec.arguments.size()) return {};
  return {&spec.arguments[position++], false};
}

void report_surplus(const CallSpec& spec, const ast::Argument& given, Diagnostics& diagnostics) {
  std::string owner = "`" + spec.name + "`";
  if (!given.name) {
    auto most = static_cast<std::int64_t>(spec.arguments.size());
    diagnostics.error("E0304", given.span, owner + " takes at most " + counted(most, "argument"));
    return;
  }
  std::vector<std::string> names;
  for (const SettingSpec& argument : spec.arguments) names.push_back(argument.name);
  const std::string& name = given.name->text;
  Diagnostic& message = diagnostics.error("E0304", given.name->span, owner + " has no argument `" + name + "`");
  suggest(message, name, given.name->span, names, "arguments");
}

// Defaults of what was not given; false where something required is missing. Beside an argument that is not known,
// nothing is called missing: it may be the same one, misspelt.
bool fill_defaults(const CallSpec& spec, Span place, bool tell, CallValue& filled, Diagnostics& diagnostics) {
  bool complete = true;
  for (const SettingSpec& argument : spec.arguments) {
    if (filled.named.count(argument.name) > 0 || argument.optional) continue;
    if (argument.fallback) {
      filled.named[argument.name] = *argument.fallback;
      continue;
    }
    complete = false;
    if (!tell) continue;
    diagnostics.error("E0303", place, "`" + spec.name + "` needs `" + argument.name + "`")
        .note("`" + argument.name + "`: " + argument.doc)
        .help("add `" + argument.name + "=...`; it is " + describe(argument));
  }
  return complete;
}

}  // namespace

std::vector<std::string> written_arguments(const SettingSpec& spec, const ast::Call& call) {
  std::vector<std::string> names;
  for (const CallSpec& known : spec.calls) {
    std::size_t position = 0;
    for (const ast::Argument& given : call.arguments) {
      if (known.name != call.callee.text) continue;
      if (const SettingSpec* argument = target_of(known, given, position).spec) names.push_back(argument->name);
    }
  }
  return names;
}

std::optional<Value> Evaluator::call(const SettingSpec& spec, const ast::Call& call, const std::string& owner) {
  std::vector<std::string> names;
  for (const CallSpec& known : spec.calls) {
    names.push_back(known.name);
    if (known.name != call.callee.text) continue;
    CallValue filled{known.name, {}, {}};
    if (!fill_arguments(known, call, filled)) return std::nullopt;
    return Value(std::move(filled));
  }
  Diagnostic& message = diagnostics_.error(
      "E0313", call.callee.span, "`" + spec.name + "` of " + owner + " cannot be `" + call.callee.text + "(...)`");
  suggest(message, call.callee.text, call.callee.span, names, "choices");
  return std::nullopt;
}

bool Evaluator::fill_arguments(const CallSpec& spec, const ast::Call& call, CallValue& filled) {
  bool ok = true;
  std::size_t position = 0;
  std::string owner = "`" + spec.name + "`";
  for (const ast::Argument& given : call.arguments) {
    Target target = target_of(spec, given, position);
    if (target.spec == nullptr) {
      report_surplus(spec, given, diagnostics_);
      ok = false;
      continue;
    }
    if (filled.named.count(target.spec->name) > 0) {
      diagnostics_.error("E0318", given.span, "`" + target.spec->name + "` of " + owner + " is given twice");
      ok = false;
      continue;
    }
    std::optional<Value> value = setting(*target.spec, target.flag ? nullptr : &given.value, given.span, owner);
    ok = ok && value.has_value();
    filled.named[target.spec->name] = value.value_or(Value());
  }
  return fill_defaults(spec, call.span, ok, filled, diagnostics_) && ok;
}

}  // namespace rlflow
