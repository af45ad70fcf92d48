// `rlflow fmt`: does a program have its canonical form? Writes it, in place.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/diagnostic_output.h"
#include "cli/text_file.h"
#include "cli/unified_diff.h"
#include "cli/verb.h"
#include "compiler/format.h"
#include "compiler/parse.h"

namespace rlflow {
namespace {

struct FmtOptions {
  std::vector<std::string> files;
  bool check = false;
  bool diff = false;
};

// Why a text cannot be formatted: its syntax errors alone.
void print_syntax_errors(const std::string& path, const std::string& text, const Session& session) {
  Analysis analysis;
  Diagnostics diagnostics;
  FileId file = analysis.sources.add(path, text);
  parse_file(file, analysis.sources, diagnostics);
  analysis.diagnostics = diagnostics.take();
  print_diagnostics(analysis, session);
}

ExitCode format_file(const std::string& path, const FmtOptions& options, const Session& session) {
  const bool piped = path == "-";
  const std::string shown = piped ? kStandardInputPath : path;
  const std::string text = piped ? read_standard_input() : read_text_file(path);
  const std::optional<std::string> formatted = format_source(text);
  if (!formatted) {
    print_syntax_errors(shown, text, session);
    return ExitCode::no;
  }
  const bool same = *formatted == text;
  if (options.diff) std::cout << unified_diff(text, *formatted, shown, shown + " (formatted)");
  if (options.check && !same) std::cerr << shown << ": not formatted\n";
  if (options.diff || options.check) return same ? ExitCode::yes : ExitCode::no;
  if (piped) {
    std::cout << *formatted;
  } else if (!same) {
    replace_text_file(path, *formatted);
    if (!session.quiet) std::cerr << "formatted " << path << "\n";
  }
  return ExitCode::yes;
}

ExitCode format_files(const FmtOptions& options, const Session& session) {
  ExitCode worst = ExitCode::yes;
  for (const std::string& path : options.files) {
    try {
      worst = std::max(worst, format_file(path, options, session));
    } catch (const std::runtime_error& error) {
      std::cerr << "rlflow fmt: " << error.what() << "\n";
      worst = std::max(worst, ExitCode::could_not_answer);
    }
  }
  return worst;
}

}  // namespace

Action declare_fmt(CLI::App& app, const Session& session) {
  // Shared by the parser, which fills it, and the action, which reads it.
  auto options = std::make_shared<FmtOptions>();
  app.add_option("FILES", options->files,
                 "programs, changed in place; - turns the standard input into the standard output")
      ->required()
      ->option_text("...");
  app.add_flag("--check", options->check, "change nothing; exit 1 if a file is not formatted");
  app.add_flag("--diff", options->diff, "change nothing; print what would change, exit 1 if anything");
  return [options, &session] { return format_files(*options, session); };
}

}  // namespace rlflow
