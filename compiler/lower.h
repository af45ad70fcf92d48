// The last pass: a placed pipeline without errors becomes the Plan that the engine runs.
#pragma once

#include <string>
#include <vector>

#include "compiler/ast.h"
#include "compiler/pipeline.h"
#include "compiler/place.h"
#include "compiler/source.h"
#include "runtime/contract/plan.h"
#include "runtime/contract/signature.h"

namespace rlflow {

// What no surviving node uses (a reference model behind `when`) is left out.
Plan lower(const Pipeline& pipeline, const PlacedPipeline& placed, const Catalog& catalog, const SourceMap& sources,
           const std::vector<ast::File>& files, const std::vector<std::string>& overrides);

// The semantic hash: the typed graph with defaults filled in.
Digest meaning_of(const Plan& plan, const Catalog& catalog);

}  // namespace rlflow
