// What is told to the user about a program: messages as data, and their text in the terminal.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/source.h"
#include "runtime/contract/attributes.h"
#include "runtime/contract/span.h"

namespace rlflow {

enum class Level { error, warning };
enum class Applicability { safe, likely, guess };

struct Label {
  Span span;
  std::string text;
};
struct Edit {
  Span span;         // empty span: insert here
  std::string text;  // replaces the span
};
// One `= help:` line. Without edits it is advice in words.
struct Fix {
  std::string title;
  Applicability applicability = Applicability::guess;
  std::vector<Edit> edits;
};

// The chained calls add to a message and return it: error(…).label("…").at(span, "…").note("…").
struct Diagnostic {
  std::string code;  // "E0301"
  Level level = Level::error;
  std::string message;  // the headline: lower case, no full stop
  Span primary;
  std::string primary_label;
  std::vector<Label> labels;
  std::vector<std::string> notes;
  std::map<std::string, Value> values;  // the numbers and names of the message, for programs
  std::vector<Fix> fixes;

  Diagnostic& label(std::string text);
  Diagnostic& at(Span span, std::string text);  // ignored when the span has no place
  Diagnostic& note(std::string text);
  Diagnostic& value(std::string name, Value value);
  Diagnostic& help(std::string title);
  Diagnostic& fix(std::string title, Applicability applicability, std::vector<Edit> edits);
};

// Collects messages. A reference returned by `error` or `warning` is good until the next call.
class Diagnostics {
 public:
  Diagnostic& error(std::string_view code, Span primary, std::string message);
  Diagnostic& warning(std::string_view code, Span primary, std::string message);

  bool has_errors() const;
  std::vector<Diagnostic> take() { return std::move(list_); }
  std::vector<Diagnostic>& list() { return list_; }
  const std::vector<Diagnostic>& list() const { return list_; }

 private:
  std::vector<Diagnostic> list_;
};

struct RenderOptions {
  bool colour = false;
  std::size_t at_most = 0;  // messages shown before only a count follows; 0: all
};

// The text of one message, ending in a newline.
std::string render(const Diagnostic& diagnostic, const SourceMap& sources, const RenderOptions& options = {});
// All messages, an empty line between them, and a last line "2 errors, 1 warning" (nothing for none).
std::string render_all(const std::vector<Diagnostic>& list, const SourceMap& sources,
                       const RenderOptions& options = {});

std::size_t count_level(const std::vector<Diagnostic>& list, Level level);

}  // namespace rlflow
