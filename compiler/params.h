// What a `param` line declares.
#pragma once

#include "compiler/ast.h"
#include "compiler/evaluate.h"
#include "compiler/overrides.h"
#include "compiler/pipeline.h"

namespace rlflow {

// Declared value, domain and override, each typed and checked.
Param resolve_param(const ast::ParamDecl& declaration, Span span, const std::string& address, Evaluator& evaluator,
                    Overrides& overrides, const SourceMap& sources);

// "int", "float", …
const char* param_type_name(ParamType type);

}  // namespace rlflow
