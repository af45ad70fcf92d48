// What is said of a node that reads what stands further down: a line in the wrong place, or a circle.
#pragma once

#include <vector>

#include "compiler/ast.h"
#include "compiler/diagnostics.h"
#include "compiler/pipeline.h"
#include "compiler/scope.h"
#include "compiler/source.h"
#include "runtime/contract/signature.h"

namespace rlflow {

struct WrittenFlow {
  const std::vector<const ast::NodeStmt*>& statements;  // by node
  const Pipeline& pipeline;
  const Scope& scope;
  const SourceMap& sources;
  const Catalog& catalog;
};

// `reader` names at `span` what `maker`, which is no earlier node, defines at `defined`.
void report_order(const WrittenFlow& flow, NodeId reader, NodeId maker, Span span, Span defined,
                  Diagnostics& diagnostics);

}  // namespace rlflow
