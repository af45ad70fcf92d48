// FILE, -s, -f and -W on the command line -> a request to the compiler.
#include "cli/program_input.h"

#include <CLI/CLI.hpp>
#include <map>
#include <optional>

#include "cli/text_file.h"
#include "compiler/diagnostic_codes.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

const std::map<std::string, LintLevel> kLevels = {
    {"allow", LintLevel::allow}, {"warn", LintLevel::warn}, {"deny", LintLevel::deny}};

std::vector<std::string> lint_names() {
  std::vector<std::string> names;
  for (const CodeInfo& info : diagnostic_codes()) {
    if (!info.lint.empty()) names.emplace_back(info.lint);
  }
  return names;
}

// CLI11's form: an empty text for a good value, else why it is not.
std::string lint_fault(const std::string& text) {
  std::size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  if (find_lint(name) == nullptr) {
    std::vector<std::string> close = close_names(name, lint_names());
    return "there is no lint `" + name + "`" +
           (close.empty() ? "; there are " + quoted_list(lint_names(), "and")
                          : "; did you mean " + quoted_list(close) + "?");
  }
  if (equals == std::string::npos || kLevels.count(text.substr(equals + 1)) == 0) {
    return "a lint needs a level: " + name + "=allow, " + name + "=warn or " + name + "=deny";
  }
  return "";
}

}  // namespace

void add_program_changes(CLI::App& app, ProgramInput& input) {
  app.add_option("-s,--set", input.overrides, "change a param or a setting; repeatable")
      ->option_text("ADDRESS=VALUE")
      ->allow_extra_args(false);
  app.add_option("-f,--overrides", input.override_files,
                 "change what a TOML file says; repeatable, a later file wins, and -s over all")
      ->option_text("FILE.toml")
      ->allow_extra_args(false);
  app.add_option("-W", input.lints, "allow, warn or deny a lint; repeatable")
      ->option_text("LINT=LEVEL")
      ->allow_extra_args(false)
      ->check(CLI::Validator(lint_fault, ""));
}

void add_program_input(CLI::App& app, ProgramInput& input) {
  app.add_option("FILE", input.path, "the program; - reads the standard input")->required()->option_text(" ");
  add_program_changes(app, input);
}

CompileRequest compile_request(const ProgramInput& input, CompileMode mode) {
  CompileRequest request;
  request.path = input.path;
  request.override_files = input.override_files;
  request.overrides = input.overrides;
  request.mode = mode;
  for (const std::string& lint : input.lints) {
    std::size_t equals = lint.find('=');
    request.lints[lint.substr(0, equals)] = kLevels.at(lint.substr(equals + 1));
  }
  if (input.path == "-") {
    request.path = kStandardInputPath;
    request.texts[kStandardInputPath] = read_standard_input();
  }
  return request;
}

}  // namespace rlflow
