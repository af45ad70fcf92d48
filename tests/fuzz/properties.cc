// Which properties does a text break?
#include "tests/fuzz/properties.h"

#include "compiler/compile.h"
#include "compiler/dump.h"
#include "compiler/format.h"
#include "compiler/parse.h"

namespace rlflow::testing {
namespace {

CompileRequest request_for(const std::string& text) {
  CompileRequest request;
  request.path = "program.rlflow";
  request.texts = {{"program.rlflow", text}, {"common/gsm8k.rlflow", "rlflow 1\nparam samples : int = 8\n"}};
  request.only_texts = true;
  request.root = "/nowhere";
  request.mode = CompileMode::run;
  return request;
}

std::string outside(Span span, const SourceMap& sources) {
  if (!span.valid()) return "a place that is none";
  if (span.file.index() >= sources.size()) return "a place in no file";
  if (span.begin > span.end || span.end > sources.file(span.file).text.size()) return "a place outside its file";
  return "";
}

std::string fault_of(const Diagnostic& diagnostic, const SourceMap& sources) {
  std::string fault = outside(diagnostic.primary, sources);
  for (const Label& label : diagnostic.labels) fault += outside(label.span, sources);
  for (const Fix& fix : diagnostic.fixes) {
    for (const Edit& edit : fix.edits) fault += outside(edit.span, sources);
  }
  if (diagnostic.message.empty() || diagnostic.message.find('\n') != std::string::npos)
    fault += "a headline of no line";
  return fault.empty() ? "" : diagnostic.code + ": " + fault;
}

std::string tree_of(const std::string& text) {
  SourceMap sources;
  Diagnostics diagnostics;
  FileId file = sources.add("program.rlflow", text);
  return dump(parse_file(file, sources, diagnostics));
}

}  // namespace

std::string broken_property(const std::string& text, const Catalog& catalog) {
  Compilation first = compile(request_for(text), catalog);
  for (const Diagnostic& diagnostic : first.analysis.diagnostics) {
    std::string fault = fault_of(diagnostic, first.analysis.sources);
    if (!fault.empty()) return fault;
  }
  Compilation second = compile(request_for(text), catalog);
  if (render_all(first.analysis.diagnostics, first.analysis.sources) !=
          render_all(second.analysis.diagnostics, second.analysis.sources) ||
      dump(first.analysis.pipeline) != dump(second.analysis.pipeline))
    return "two analyses of one text differ";
  std::optional<std::string> formatted = format_source(text);
  if (!formatted) return "";
  if (format_source(*formatted) != formatted) return "a formatted text changes when it is formatted again";
  if (tree_of(*formatted) != tree_of(text)) return "formatting changes what is written";
  return "";
}

}  // namespace rlflow::testing
