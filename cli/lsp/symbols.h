// Which declarations and statements does a file have, as an outline?
#pragma once

#include <nlohmann/json.hpp>

#include "cli/lsp/workspace.h"

namespace rlflow::lsp {

// [DocumentSymbol…] of the document, in its order: declarations; below a flow its statements, below `every` its body.
nlohmann::json document_symbols(const Document& document);

}  // namespace rlflow::lsp
