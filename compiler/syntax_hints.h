// Advice about syntax errors: mistakes that have a name, and the form of each statement.
#pragma once

#include <string>

#include "compiler/diagnostics.h"
#include "compiler/syntax_tree.h"

namespace rlflow {

struct SyntaxPlace {
  const SyntaxError& error;
  FileId file;
  const SourceMap& sources;

  Span span(const Lexeme& lexeme) const { return {file, lexeme.begin, lexeme.end}; }
  bool is_value() const { return sources.is_command_line(file); }
  std::string text(const Lexeme& lexeme) const { return std::string(sources.text(span(lexeme))); }
  // A character of the file; a blank line end where there is none.
  char at(std::size_t byte) const {
    const std::string& text = sources.file(file).text;
    return byte < text.size() ? text[byte] : '\n';
  }
};

// Reports a mistake that is known by its looks; false where it is none of those.
bool report_known_mistake(const SyntaxPlace& place, Diagnostics& diagnostics);
// Adds what is likely meant, or the form of the statement that the error stands in.
void advise_on_syntax(const SyntaxPlace& place, Diagnostic& message);

}  // namespace rlflow
