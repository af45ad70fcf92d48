// What does the picture of a program show? Its nodes, models and groups, and what flows between them.
#pragma once

#include <string>
#include <vector>

#include "compiler/pipeline.h"
#include "compiler/place.h"
#include "runtime/contract/span.h"
#include "viz/diagram.h"

namespace rlflow {

// A message of the compiler, for the picture.
struct DiagramError {
  Span place;
  std::string line;      // "line 21"
  std::string headline;  // "there is no model `polcy`"
};

// Also draws what is known of a program with errors: boxes on whose statement one of `errors` stands are marked, and
// the other errors are boxes of their own. Statements that `when` removed are left out. `placed` may be empty, as it is
// where a program was not placed.
Diagram pipeline_diagram(const Pipeline& pipeline, const PlacedPipeline& placed,
                         const std::vector<DiagramError>& errors = {});

}  // namespace rlflow
