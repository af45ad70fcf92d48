// Where is a name used, and what must change when it does?
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/lsp/name_index.h"
#include "cli/lsp/workspace.h"

namespace rlflow::lsp {

struct RenameResult {
  std::optional<std::string> refusal;                 // why the name cannot be given; then `changes` says nothing
  nlohmann::json changes = nlohmann::json::object();  // {uri: [TextEdit…]}
};

// Both look at every open program that holds the definition; a file that no open program imports is not known.
RenameResult rename(const Workspace& workspace, const Document& document, const NameIndex& names,
                    std::size_t definition, const std::string& name, const Catalog& catalog);

// [Location…]
nlohmann::json reference_locations(const Workspace& workspace, const Document& document, const NameIndex& names,
                                   std::size_t definition, bool with_definition, const Catalog& catalog);

}  // namespace rlflow::lsp
