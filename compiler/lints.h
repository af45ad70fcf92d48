// How loud warnings are: `-W unused-node=deny`, `# rlflow: allow(unused-node)` above a line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/diagnostics.h"

namespace rlflow {

void apply_lint_levels(const std::map<std::string, LintLevel>& levels, const SourceMap& sources,
                       std::vector<Diagnostic>& list);

}  // namespace rlflow
