// Which settings may stand in a block, and which values in a setting?
#include <algorithm>

#include "cli/catalog_text.h"
#include "cli/lsp/call_place.h"
#include "cli/lsp/completer.h"
#include "cli/lsp/described.h"
#include "cli/lsp/owner.h"

namespace rlflow::lsp {
namespace {

// Params whose values may stand in a setting of this type, or in its calculation.
std::vector<ParamType> types_for(SettingType type) {
  switch (type) {
    case SettingType::boolean: return {ParamType::boolean};
    case SettingType::integer:
    case SettingType::int_range: return {ParamType::integer};
    case SettingType::real:
    case SettingType::real_list:
    case SettingType::real_or_call: return {ParamType::integer, ParamType::real};
    case SettingType::word_list:
    case SettingType::word: return {ParamType::word};
    case SettingType::word_or_real: return {ParamType::word, ParamType::integer, ParamType::real};
    case SettingType::text:
    case SettingType::texts: return {ParamType::string, ParamType::path};
    case SettingType::duration: return {ParamType::duration};
    case SettingType::tokens: return {ParamType::tokens};
    case SettingType::seqs: return {ParamType::seqs};
    case SettingType::bytes: return {ParamType::bytes};
    case SettingType::call: return {};
  }
  return {};
}

}  // namespace

void Completer::in_settings(const Frame& frame) {
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

void Completer::add_setting(const SettingSpec& spec, const std::string& owner, const std::string& assign) {
  std::string insert = spec.type == SettingType::boolean ? spec.name : spec.name + assign;
  add(spec.name, CompletionKind::setting, values_text(spec) + "; default " + default_text(spec),
      describe(spec, owner, nullptr), insert);
}

// Inside `optim = adamw(lr=|`.
void Completer::in_call_value(const Frame& settings, const Frame& frame, const std::string& callee) {
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

// Inside `lora(targets=[|`, or inside the brackets of devices.
void Completer::in_list() {
  const std::vector<Frame>& frames = cursor_.frames();
  const Frame* call = frames.size() > 1 ? &frames[frames.size() - 2] : nullptr;
  const Frame* settings = call != nullptr && call->bracket == Bracket::call ? settings_around(cursor_, *call) : nullptr;
  if (settings == nullptr) return params({ParamType::integer});
  BlockOwner owner = block_owner(cursor_, analysis_, names_, catalog_);
  const SettingSpec* spec = find_setting(owner.settings, cursor_.item_name(*settings));
  const CallSpec* known = spec != nullptr ? called(cursor_, *spec, *call, cursor_.call_at(call->open).callee) : nullptr;
  const SettingSpec* argument =
      known != nullptr ? call_argument(*known, call->commas, cursor_.item_name(*call)) : nullptr;
  if (argument != nullptr && argument->type == SettingType::word_list) words(*argument);
}

void Completer::value_of(const SettingSpec& spec) {
  bool behind_number = !cursor_.before(0).empty() && cursor_.before(0).find_first_of("0123456789") == 0;
  switch (spec.type) {
    case SettingType::boolean: add_all({"true", "false"}, CompletionKind::word); break;
    case SettingType::duration: return units(behind_number, ParamType::duration, {"ms", "s", "m", "h"});
    case SettingType::tokens: return units(behind_number, ParamType::tokens, {"tokens"});
    case SettingType::seqs: return units(behind_number, ParamType::seqs, {"seqs"});
    case SettingType::bytes: return units(behind_number, ParamType::bytes, {"B", "KiB", "MiB", "GiB"});
    case SettingType::call: return words(spec);
    case SettingType::word:
    case SettingType::word_list:
    case SettingType::word_or_real:
    case SettingType::real_or_call: words(spec); break;
    case SettingType::integer:
    case SettingType::real:
    case SettingType::text:
    case SettingType::texts:
    case SettingType::int_range:
    case SettingType::real_list: break;
  }
  if (!behind_number) params(types_for(spec.type), spec.words);
}

void Completer::words(const SettingSpec& spec) {
  for (const std::string& word : spec.words) {
    bool runs = std::find(spec.not_executable.begin(), spec.not_executable.end(), word) == spec.not_executable.end();
    add(word, CompletionKind::word, runs ? "" : "checked and planned, not executed by this version");
  }
  for (const CallSpec& call : spec.calls) add(call.name, CompletionKind::function, call.doc, describe(call));
}

void Completer::units(bool behind_number, ParamType type, std::initializer_list<const char*> names) {
  behind_number ? add_all(names, CompletionKind::unit) : params({type});
}

}  // namespace rlflow::lsp
