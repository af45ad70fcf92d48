// The program and everything it imports, read and parsed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ast.h"
#include "compiler/compile.h"
#include "compiler/diagnostics.h"

namespace rlflow {

// One file of the import tree. A file imported twice is one module.
struct Module {
  FileId file;
  std::string prefix;                          // of its names in the program: "", "gsm."
  std::map<std::string, std::size_t> imports;  // alias -> index of the module
};

struct Loaded {
  bool readable = false;
  std::string root;                // absolute
  std::vector<Module> modules;     // [0] is the program; an imported module stands behind its importer
  std::vector<std::size_t> order;  // every module behind those it imports
};

// A source's text: of the request where it gives one, else from the disk. At most one byte more than 1 MiB is read.
struct SourceText {
  bool ok = false;
  std::string text;
  std::string reason;  // why there is none
};
SourceText read_source(const std::string& path, const CompileRequest& request);

Loaded load(const CompileRequest& request, SourceMap& sources, std::vector<ast::File>& files, Diagnostics& diagnostics);

}  // namespace rlflow
