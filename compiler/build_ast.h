// Phrases -> syntax tree: what the words of each phrase say.
#pragma once

#include <optional>

#include "compiler/ast.h"
#include "compiler/diagnostics.h"
#include "compiler/syntax_tree.h"

namespace rlflow {

// Broken declarations and statements keep the names they would have defined.
ast::File build_file(const SyntaxNode& root, FileId file, const SourceMap& sources, Diagnostics& diagnostics);
ast::Expr build_value(const SyntaxNode& value, FileId file, const SourceMap& sources, Diagnostics& diagnostics);

}  // namespace rlflow
