// `rlflow new KIND`: a commented program to start from.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/diagnostic_output.h"
#include "cli/json_output.h"
#include "cli/new_programs.h"
#include "cli/text_file.h"
#include "cli/verb.h"
#include "compiler/names.h"
#include "nodes/signatures/catalog.h"

namespace rlflow {
namespace {

struct NewOptions {
  std::string kind;
  std::string path;  // empty or "-": the standard output
  bool replace = false;
  bool as_json = false;
};

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const NewProgram& program : new_programs()) names.emplace_back(program.kind);
  return names;
}

std::string kinds_text() {
  std::string text;
  for (const NewProgram& program : new_programs())
    text += (text.empty() ? "" : "\n") + std::string(program.kind) + ": " + program.summary;
  return text;
}

// CLI11's form: an empty text for a good value, else why it is not.
std::string kind_fault(const std::string& kind) {
  const std::vector<std::string> known = kinds();
  if (std::find(known.begin(), known.end(), kind) != known.end()) return "";
  const std::vector<std::string> close = close_names(kind, known);
  return "there is no program `" + kind + "`; " +
         (close.empty() ? "there are " + quoted_list(known, "and") : "did you mean " + quoted_list(close) + "?");
}

const NewProgram& program_of(const std::string& kind) {
  return *std::find_if(new_programs().begin(), new_programs().end(),
                       [&](const NewProgram& program) { return kind == program.kind; });
}

// The new file is checked where it stands: what is missing there (a model folder, data) is said at once.
ExitCode write_program(const NewOptions& options, const NewProgram& program, const Session& session) {
  if (!options.replace && std::filesystem::exists(std::filesystem::symlink_status(options.path))) {
    std::cerr << "rlflow new: `" << options.path << "` exists already\n"
              << "  = help: choose another name, or replace it with --force\n";
    return ExitCode::could_not_answer;
  }
  replace_text_file(options.path, program.text);
  CompileRequest request;
  request.path = options.path;
  const Analysis analysis = analyze(request, catalog());
  if (options.as_json) {
    print_json({{"format", "rlflow.new/1"},
                {"kind", program.kind},
                {"path", options.path},
                {"diagnostics", diagnostics_json(analysis)["diagnostics"]}});
    return ExitCode::yes;
  }
  print_diagnostics(analysis, session);
  if (session.quiet) return ExitCode::yes;
  std::cout << "wrote   " << options.path << "  (" << program.summary << ")\n"
            << "next    " << session.invoked_as << " check " << options.path << "\n"
            << "        " << session.invoked_as << " graph " << options.path << " -o picture.svg\n"
            << "        " << session.invoked_as << " run " << options.path << "\n";
  return ExitCode::yes;
}

ExitCode make_program(const NewOptions& options, const Session& session) {
  const NewProgram& program = program_of(options.kind);
  if (!options.path.empty() && options.path != "-") {
    try {
      return write_program(options, program, session);
    } catch (const std::runtime_error& error) {
      std::cerr << "rlflow new: " << error.what() << "\n";
      return ExitCode::could_not_answer;
    }
  }
  if (options.as_json) {
    print_json({{"format", "rlflow.new/1"}, {"kind", program.kind}, {"text", program.text}});
  } else {
    std::cout << program.text;
  }
  return ExitCode::yes;
}

}  // namespace

Action declare_new(CLI::App& app, const Session& session) {
  // Shared by the parser, which fills it, and the action, which reads it.
  auto options = std::make_shared<NewOptions>();
  app.add_option("KIND", options->kind, kinds_text())
      ->required()
      ->option_text(" ")
      ->check(CLI::Validator(kind_fault, ""));
  app.add_option("-o,--output", options->path, "the file to write; without it the program is printed")
      ->option_text("FILE");
  app.add_flag("--force", options->replace, "replace a file that exists");
  app.add_flag("--json", options->as_json, "print one JSON object, rlflow.new/1");
  return [options, &session] { return make_program(*options, session); };
}

}  // namespace rlflow
