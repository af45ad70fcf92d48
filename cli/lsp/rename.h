// What must change when a name does?
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/lsp/name_index.h"
#include "cli/lsp/workspace.h"

namespace rlflow::lsp {

// Why this name cannot be given to the definition; nullopt where it can.
std::optional<std::string> refuse_name(const NameIndex& names, const Definition& definition, const std::string& name);

// {uri: [TextEdit…]} for every use, in the program of the document and in every other open program that uses the
// same definition.
nlohmann::json rename_changes(const Workspace& workspace, const Document& document, const NameIndex& names,
                              std::size_t definition, const std::string& name, const Catalog& catalog);

// [Location…]: the same places.
nlohmann::json reference_locations(const Workspace& workspace, const Document& document, const NameIndex& names,
                                   std::size_t definition, bool with_definition);

}  // namespace rlflow::lsp
