// How a syntax error is told.
#pragma once

#include "compiler/diagnostics.h"
#include "compiler/syntax_tree.h"

namespace rlflow {

void report_syntax_error(const SyntaxError& error, FileId file, const SourceMap& sources, Diagnostics& diagnostics);

}  // namespace rlflow
