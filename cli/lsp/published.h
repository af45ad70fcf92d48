// How does an editor see the messages of the compiler, and which edits mend them?
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/lsp/workspace.h"

namespace rlflow::lsp {

// {"uri": …, "range": …}
nlohmann::json location_json(const Workspace& workspace, const SourceMap& sources, Span span);
// {uri: [TextEdit…]}
nlohmann::json changes_json(const Workspace& workspace, const SourceMap& sources, const std::vector<Edit>& edits);

// The protocol's diagnostics of every file of the program, by URI; a file without any has an empty list.
std::map<std::string, nlohmann::json> published_diagnostics(const Workspace& workspace, const Document& document);

// Quick fixes, safe and likely ones, of the messages that touch [begin, end] of the document.
nlohmann::json code_actions(const Workspace& workspace, const Document& document, std::uint32_t begin,
                            std::uint32_t end);

}  // namespace rlflow::lsp
