// Names -> ids, expressions -> values: the declarations and the flow of a program become a Pipeline.
#pragma once

#include <vector>

#include "compiler/ast.h"
#include "compiler/diagnostics.h"
#include "compiler/load.h"
#include "compiler/overrides.h"
#include "compiler/pipeline.h"
#include "compiler/scope.h"
#include "runtime/contract/signature.h"

namespace rlflow {

// Fills the pipeline's declarations and returns one scope a module. `scopes` keeps its address.
void resolve_declarations(const Loaded& loaded, const std::vector<ast::File>& files, const Catalog& catalog,
                          const SourceMap& sources, Overrides& overrides, Pipeline& pipeline,
                          std::vector<Scope>& scopes, Diagnostics& diagnostics);

// Fills the pipeline's flow: nodes with typed outputs, syncs, blocks. Node outputs join `scope`.
void resolve_flow(const ast::File& program, const Catalog& catalog, const SourceMap& sources, Overrides& overrides,
                  Pipeline& pipeline, Scope& scope, Diagnostics& diagnostics);

}  // namespace rlflow
