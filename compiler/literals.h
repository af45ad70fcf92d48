// What number and string tokens stand for.
#pragma once

#include <string>

#include "compiler/ast.h"
#include "compiler/diagnostics.h"

namespace rlflow {

// Without unit. A number that does not fit is reported and becomes 0.
ast::Number number_of(Span token, const SourceMap& sources, Diagnostics& diagnostics);
// The text between the quotes with its escapes decoded; unknown escapes are reported.
std::string string_of(Span token, const SourceMap& sources, Diagnostics& diagnostics);

}  // namespace rlflow
