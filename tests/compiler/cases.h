// Golden cases: programs whose comments say which messages they give.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/compiler/support.h"

namespace rlflow::testing {

// `#! error[E0301] @+1: text` expects that message on the next line; `@cmd:` on the command line;
// `path:line:` in another file. `#! mode: run`, `#! gpus: 8` and `#! override: a=b` set the stage.
// `@+1:34` also fixes the column, and the whole headline. Lines behind an expectation say all that the message says:
// `#! label @-1:24: made here` (that of the primary place, if it has one, first), `#! note: …`, `#! help: …` for advice
// and `#! fix safe: …` (or likely, guess) for advice with an edit.
struct Expectation {
  std::string place;  // "cases/x.rlflow:12", with its column where one is given, "<command line>"
  std::string level_and_code;
  std::string text;                  // contained in the headline; where a column is given, all of it
  std::vector<std::string> details;  // as written behind `#! `, places resolved; empty: not looked at
};
struct Case {
  CompileRequest request;
  Cluster cluster;
  bool has_cluster = false;
  std::vector<Expectation> expected;
};

Case read_case(const fs::path& path);
std::vector<fs::path> case_files();
Analysis analyze_case(const Case& test, const Catalog& catalog);
// "x.rlflow:12:3"; "<command line>"
std::string place_of(Span span, const SourceMap& sources);
bool meets(const Diagnostic& diagnostic, const SourceMap& sources, const Expectation& expectation);
std::vector<std::string> details_of(const Diagnostic& diagnostic, const SourceMap& sources);

}  // namespace rlflow::testing
