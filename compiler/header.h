// `rlflow 1` in front of a program.
#pragma once

#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/syntax_tree.h"

namespace rlflow {

// Reports a header that is missing or wrong and mends it, so that the rest can be read. False: this is no rlflow
// program at all, and nothing else should be said about it.
bool check_header(std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources, Diagnostics& diagnostics);

}  // namespace rlflow
