// Which brace is too many or left open, as far as the indentation of the lines shows it.
#pragma once

#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/syntax_tree.h"

namespace rlflow {

// Where the braces of the visible tokens do not pair, puts in the one that a line further left shows to be missing, or
// takes out the one that no line needs, and reports it. `suspect` gets the places whose syntax errors follow from it.
void repair_braces(std::vector<Lexeme>& visible, FileId file, const SourceMap& sources, std::vector<Span>& suspect,
                   Diagnostics& diagnostics);

}  // namespace rlflow
