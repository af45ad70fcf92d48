// Messages as data: building and counting them.
#include "compiler/diagnostics.h"

#include <algorithm>
#include <utility>

namespace rlflow {

Diagnostic& Diagnostic::label(std::string text) {
  primary_label = std::move(text);
  return *this;
}

Diagnostic& Diagnostic::at(Span span, std::string text) {
  if (span.valid()) labels.push_back({span, std::move(text)});
  return *this;
}

Diagnostic& Diagnostic::note(std::string text) {
  notes.push_back(std::move(text));
  return *this;
}

Diagnostic& Diagnostic::value(std::string name, Value v) {
  values.insert_or_assign(std::move(name), std::move(v));
  return *this;
}

Diagnostic& Diagnostic::help(std::string title) {
  fixes.push_back({std::move(title), Applicability::guess, {}});
  return *this;
}

Diagnostic& Diagnostic::fix(std::string title, Applicability applicability, std::vector<Edit> edits) {
  fixes.push_back({std::move(title), applicability, std::move(edits)});
  return *this;
}

Diagnostic& Diagnostics::error(std::string_view code, Span primary, std::string message) {
  Diagnostic& added = list_.emplace_back();
  added.code = code;
  added.primary = primary;
  added.message = std::move(message);
  return added;
}

Diagnostic& Diagnostics::warning(std::string_view code, Span primary, std::string message) {
  Diagnostic& added = error(code, primary, std::move(message));
  added.level = Level::warning;
  return added;
}

bool Diagnostics::has_errors() const { return count_level(list_, Level::error) > 0; }

std::size_t count_level(const std::vector<Diagnostic>& list, Level level) {
  return static_cast<std::size_t>(
      std::count_if(list.begin(), list.end(), [level](const Diagnostic& d) { return d.level == level; }));
}

}  // namespace rlflow
