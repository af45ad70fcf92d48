// Which settings may stand in a block, and which of the catalog's rows does a name mean?
#pragma once

#include <string>
#include <vector>

#include "compiler/ast.h"
#include "runtime/contract/signature.h"

namespace rlflow::lsp {

using SettingSpecs = std::vector<const SettingSpec*>;

SettingSpecs pointers_to(const std::vector<SettingSpec>& settings);
// Of every signature of the op, a name once, and the common ones; empty where there is no such op.
SettingSpecs node_settings(const Catalog& catalog, const std::string& op);
SettingSpecs node_settings(const Catalog& catalog, const NodeSignature& signature);
// `builtin("addition")`, `jsonl("…")`; empty where it is not known.
SettingSpecs source_settings(const std::vector<SourceSignature>& known, const ast::Call& call);

// Null where the source is unknown; `argument` is the name of a builtin.
const SourceSignature* find_source(const std::vector<SourceSignature>& known, const std::string& source,
                                   const std::string& argument);
std::vector<const NodeSignature*> signatures_of(const Catalog& catalog, const std::string& op);
const SettingSpec* find_setting(const SettingSpecs& specs, const std::string& name);
const CallSpec* find_call(const SettingSpec& spec, const std::string& name);
// The argument that stands at this place, or has this name where one is given; null where there is none.
const SettingSpec* call_argument(const CallSpec& call, std::size_t place, const std::string& name);
bool has_word(const SettingSpec& spec, const std::string& word);

}  // namespace rlflow::lsp
