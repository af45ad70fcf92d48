// `rlflow graph`: what does a program look like?
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>

#include "cli/diagnostic_output.h"
#include "cli/program_input.h"
#include "cli/text_file.h"
#include "cli/verb.h"
#include "nodes/signatures/catalog.h"
#include "viz/dot.h"
#include "viz/pipeline_diagram.h"
#include "viz/render.h"

namespace rlflow {
namespace {

struct GraphOptions {
  ProgramInput input;
  std::string output;  // empty: DOT to the standard output
  bool dark = false;
};

std::string extension_of(const std::string& path) {
  std::size_t dot = path.rfind('.');
  return dot == std::string::npos || path.find('/', dot) != std::string::npos ? "" : path.substr(dot + 1);
}

// CLI11's form: an empty text for a good value, else why it is not.
std::string output_fault(const std::string& path) {
  std::string extension = extension_of(path);
  if (extension == "svg" || extension == "png" || extension == "dot") return "";
  return "cannot tell the format from `" + path + "`: end it in .svg, .png or .dot";
}

std::vector<DiagramError> errors_of(const Analysis& analysis) {
  std::vector<DiagramError> errors;
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    if (diagnostic.level != Level::error || !diagnostic.primary.valid()) continue;
    const Span& place = diagnostic.primary;
    const std::uint32_t line = analysis.sources.position(place.file, place.begin).line;
    const std::string where = place.file == FileId(0) ? "line " : analysis.sources.file(place.file).path + ":";
    errors.push_back({place, where + std::to_string(line), diagnostic.message});
  }
  return errors;
}

// The picture's bytes; throws std::runtime_error where Graphviz cannot make them.
std::string picture_of(const std::string& dot, const std::string& extension) {
  if (extension == "dot") return dot;
  Picture picture = render(dot, extension == "svg" ? PictureFormat::svg : PictureFormat::png);
  if (!picture.error.empty()) throw std::runtime_error(picture.error);
  return picture.bytes;
}

ExitCode graph(const GraphOptions& options, const Session& session) {
  const Catalog known = catalog();
  const Analysis analysis = analyze(compile_request(options.input), known);
  print_diagnostics(analysis, session);
  if (!analysis.readable) return ExitCode::could_not_answer;
  const Diagram diagram = pipeline_diagram(analysis.pipeline, analysis.placed, errors_of(analysis));
  const std::string dot = to_dot(diagram, options.dark ? kDarkPalette : kLightPalette);
  if (options.output.empty()) {
    std::cout << dot << std::flush;
  } else {
    replace_text_file(options.output, picture_of(dot, extension_of(options.output)));
    if (!session.quiet) std::cerr << "wrote " << options.output << "\n";
  }
  return analysis.ok() ? ExitCode::yes : ExitCode::no;
}

}  // namespace

Action declare_graph(CLI::App& app, const Session& session) {
  // Shared by the parser, which fills it, and the action, which reads it.
  auto options = std::make_shared<GraphOptions>();
  add_program_input(app, options->input);
  app.add_option("-o,--output", options->output, "write a .svg, .png or .dot file; without it, DOT is printed")
      ->option_text("PATH")
      ->check(CLI::Validator(output_fault, ""));
  app.add_flag("--dark", options->dark, "for a dark background");
  return [options, &session] { return graph(*options, session); };
}

}  // namespace rlflow
