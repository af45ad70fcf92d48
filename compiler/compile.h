// From a program's text to its Plan: the passes in order.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ast.h"
#include "compiler/diagnostics.h"
#include "compiler/pipeline.h"
#include "compiler/place.h"
#include "compiler/source.h"
#include "runtime/contract/cluster.h"
#include "runtime/contract/plan.h"
#include "runtime/contract/signature.h"

namespace rlflow {

// check: missing files of models and data are warnings. run: they are errors, and so is whatever this
// version cannot execute.
enum class CompileMode { check, run };
enum class LintLevel { allow, warn, deny };

struct CompileRequest {
  std::string path;  // the program, as the user wrote it; messages print it so
  // Texts that stand for files, by path. `path` and imports are looked up here first, so a run compiles
  // from its own copy (Plan::sources) and an editor from its buffers.
  std::map<std::string, std::string> texts;
  bool only_texts = false;                  // never read a source from the disk
  std::optional<std::string> root;          // project root, absolute; unset: found above `path`
  std::vector<std::string> override_files;  // of TOML; a later one wins
  std::vector<std::string> overrides;       // "address=value"; they win over files
  std::map<std::string, LintLevel> lints;   // by name: "unused-node"
  CompileMode mode = CompileMode::check;
  const Cluster* cluster = nullptr;
};

// Everything that could be found out, also about a broken program. Borrows the catalog.
struct Analysis {
  SourceMap sources;
  bool readable = true;                // false: the program or a file of overrides is not there or cannot be read
  std::vector<ast::File> files;        // one a source file
  std::vector<std::string> overrides;  // of files and the command line together, "address=value"
  Pipeline pipeline;
  PlacedPipeline placed;
  std::vector<Diagnostic> diagnostics;  // by file and place

  bool ok() const { return count_level(diagnostics, Level::error) == 0; }
};

Analysis analyze(const CompileRequest& request, const Catalog& catalog);

struct Compilation {
  Analysis analysis;
  std::optional<Plan> plan;  // set iff there are no errors and the program has a flow
};

Compilation compile(const CompileRequest& request, const Catalog& catalog);

}  // namespace rlflow
