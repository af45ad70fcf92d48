// The compiler on one screen: each pass takes what the one before it made.
#include "compiler/compile.h"

#include <algorithm>
#include <deque>

#include "compiler/check.h"
#include "compiler/lints.h"
#include "compiler/load.h"
#include "compiler/lower.h"
#include "compiler/overrides.h"
#include "compiler/resolve.h"

namespace rlflow {
namespace {

bool by_place(const Diagnostic& a, const Diagnostic& b) {
  if (a.primary.file != b.primary.file) return a.primary.file < b.primary.file;
  return a.primary.begin < b.primary.begin;
}

}  // namespace

Analysis analyze(const CompileRequest& request, const Catalog& catalog) {
  Analysis result;
  Diagnostics diagnostics;
  Loaded loaded = load(request, result.sources, result.files, diagnostics);
  result.readable = loaded.readable;
  result.pipeline.root = loaded.root;
  bool broken =
      std::any_of(result.files.begin(), result.files.end(), [](const ast::File& file) { return file.broken; });

  Overrides overrides;
  overrides.read(request.overrides, result.sources, diagnostics);
  std::vector<Scope> scopes;
  resolve_declarations(loaded, result.files, catalog, result.sources, overrides, result.pipeline, scopes, diagnostics);
  resolve_flow(result.files[0], catalog, result.sources, overrides, result.pipeline, scopes[0], diagnostics);
  if (!broken) overrides.report_unused(diagnostics);

  result.placed = place(result.pipeline, request.cluster, request.mode == CompileMode::run, diagnostics);
  if (loaded.readable) check({result.pipeline, catalog, result.sources, request.mode, broken}, diagnostics);

  result.diagnostics = diagnostics.take();
  apply_lint_levels(request.lints, result.sources, result.diagnostics);
  std::stable_sort(result.diagnostics.begin(), result.diagnostics.end(), by_place);
  return result;
}

Compilation compile(const CompileRequest& request, const Catalog& catalog) {
  Compilation result{analyze(request, catalog), std::nullopt};
  const Analysis& analysis = result.analysis;
  if (analysis.ok() && !analysis.pipeline.flow.empty()) {
    result.plan = lower(analysis.pipeline, analysis.placed, catalog, analysis.sources, request.overrides);
  }
  return result;
}

}  // namespace rlflow
