// Stable text of the syntax tree, the pipeline and the plan, for golden tests and `check --dump`.
#pragma once

#include <string>

#include "compiler/ast.h"
#include "compiler/pipeline.h"
#include "runtime/contract/plan.h"

namespace rlflow {

std::string dump(const ast::File& file);  // without places: equal programs have equal text
std::string dump(const Pipeline& pipeline);
std::string dump(const Plan& plan);

}  // namespace rlflow
