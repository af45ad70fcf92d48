// Look-ups in the catalog.
#include "cli/lsp/owner.h"

#include <algorithm>

namespace rlflow::lsp {
namespace {

void add_new(SettingSpecs& specs, const std::vector<SettingSpec>& more) {
  for (const SettingSpec& spec : more) {
    if (find_setting(specs, spec.name) == nullptr) specs.push_back(&spec);
  }
}

}  // namespace

SettingSpecs pointers_to(const std::vector<SettingSpec>& settings) {
  SettingSpecs specs;
  add_new(specs, settings);
  return specs;
}

SettingSpecs node_settings(const Catalog& catalog, const std::string& op) {
  SettingSpecs specs;
  for (const NodeSignature* signature : signatures_of(catalog, op)) add_new(specs, signature->settings);
  if (!signatures_of(catalog, op).empty()) add_new(specs, catalog.common);
  return specs;
}

SettingSpecs node_settings(const Catalog& catalog, const NodeSignature& signature) {
  SettingSpecs specs = pointers_to(signature.settings);
  add_new(specs, catalog.common);
  return specs;
}

SettingSpecs source_settings(const std::vector<SourceSignature>& known, const ast::Call& call) {
  const ast::String* argument =
      call.arguments.empty() ? nullptr : std::get_if<ast::String>(&call.arguments[0].value.data);
  const SourceSignature* source = find_source(known, call.callee.text, argument ? argument->value : "");
  return source == nullptr ? SettingSpecs{} : pointers_to(source->settings);
}

const SourceSignature* find_source(const std::vector<SourceSignature>& known, const std::string& source,
                                   const std::string& argument) {
  for (const SourceSignature& signature : known) {
    if (signature.source == source && (signature.name.empty() || signature.name == argument)) return &signature;
  }
  return nullptr;
}

std::vector<const NodeSignature*> signatures_of(const Catalog& catalog, const std::string& op) {
  std::vector<const NodeSignature*> found;
  for (const NodeSignature& signature : catalog.nodes) {
    if (signature.op == op) found.push_back(&signature);
  }
  return found;
}

const SettingSpec* find_setting(const SettingSpecs& specs, const std::string& name) {
  auto found = std::find_if(specs.begin(), specs.end(), [&](const SettingSpec* spec) { return spec->name == name; });
  return found == specs.end() ? nullptr : *found;
}

const CallSpec* find_call(const SettingSpec& spec, const std::string& name) {
  for (const CallSpec& call : spec.calls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

const SettingSpec* call_argument(const CallSpec& call, std::size_t place, const std::string& name) {
  if (!name.empty()) return find_setting(pointers_to(call.arguments), name);
  return place < call.arguments.size() ? &call.arguments[place] : nullptr;
}

bool has_word(const SettingSpec& spec, const std::string& word) {
  return std::find(spec.words.begin(), spec.words.end(), word) != spec.words.end();
}

}  // namespace rlflow::lsp
