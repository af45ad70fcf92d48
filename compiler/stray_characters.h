// Characters that no token of the language begins with.
#pragma once

#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/syntax_tree.h"

namespace rlflow {

// One message for each different character of the file, with what is written in its stead.
void report_stray_characters(const std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources,
                             Diagnostics& diagnostics);

}  // namespace rlflow
