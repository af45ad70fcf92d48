// The compiler on one screen: each pass takes what the one before it made.
#include "compiler/compile.h"

#include <algorithm>
#include <deque>

#include "compiler/check.h"
#include "compiler/lints.h"
#include "compiler/load.h"
#include "compiler/lower.h"
#include "compiler/override_file.h"
#include "compiler/overrides.h"
#include "compiler/resolve.h"

namespace rlflow {
namespace {

bool by_place(const Diagnostic& a, const Diagnostic& b) {
  if (a.primary.file != b.primary.file) return a.primary.file < b.primary.file;
  return a.primary.begin < b.primary.begin;
}

// False where a file could not be read.
bool read_override_files(const CompileRequest& request, SourceMap& sources, Overrides& overrides,
                         Diagnostics& diagnostics) {
  constexpr std::size_t kLargest = 1 << 20;
  bool readable = true;
  for (const std::string& path : request.override_files) {
    SourceText read = read_source(path, request);
    if (read.ok && read.text.size() > kLargest) read = {false, "", "it has more than 1 MiB"};
    if (read.ok) {
      overrides.add(read_override_file(path, std::move(read.text), sources, diagnostics));
      continue;
    }
    readable = false;
    diagnostics.error("E0217", {sources.add(path, ""), 0, 0},
                      "cannot read overrides from `" + path + "`: " + read.reason);
  }
  return readable;
}

}  // namespace

Analysis analyze(const CompileRequest& request, const Catalog& catalog) {
  Analysis result;
  Diagnostics diagnostics;
  Loaded loaded = load(request, result.sources, result.files, diagnostics);
  result.pipeline.root = loaded.root;
  bool broken =
      std::any_of(result.files.begin(), result.files.end(), [](const ast::File& file) { return file.broken; });

  Overrides overrides;
  bool all_read = read_override_files(request, result.sources, overrides, diagnostics);
  overrides.read(request.overrides, result.sources, diagnostics);
  std::vector<Scope> scopes;
  resolve_declarations(loaded, result.files, catalog, result.sources, overrides, result.pipeline, scopes, diagnostics);
  resolve_flow(result.files[0], catalog, result.sources, overrides, result.pipeline, scopes[0], diagnostics);
  if (!broken) overrides.report_unused(diagnostics);
  result.overrides = overrides.texts();
  result.readable = loaded.readable && all_read;

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
    result.plan =
        lower(analysis.pipeline, analysis.placed, catalog, analysis.sources, analysis.files, analysis.overrides);
  }
  return result;
}

}  // namespace rlflow
