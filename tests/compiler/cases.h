// Golden cases: programs whose comments say which messages they give.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/compiler/support.h"

namespace rlflow::testing {

// `#! error[E0301] @+1: text` expects that message on the next line; `@cmd:` on the command line;
// `path:line:` in another file. `#! mode: run`, `#! gpus: 8` and `#! override: a=b` set the stage.
struct Expectation {
  std::string place;  // "cases/x.rlflow:12", "<command line>"
  std::string level_and_code;
  std::string text;  // contained in the headline
};
struct Case {
  CompileRequest request;
  Cluster cluster;
  bool has_cluster = false;
  std::vector<Expectation> expected;
};

Case read_case(const fs::path& path);
std::vector<fs::path> case_files();
std::string place_of(const Diagnostic& diagnostic, const SourceMap& sources);

}  // namespace rlflow::testing
