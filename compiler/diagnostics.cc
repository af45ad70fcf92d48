// Messages as data: building and counting them.
#include "compiler/diagnostics.h"

#include <algorithm>
#include <utility>

#include "compiler/display.h"

namespace rlflow {

namespace {

constexpr std::size_t kLongestName = 40;  // code points of what stands in backquotes in a headline

// `aaaa…` of a thousand letters says nothing that its beginning does not, and a headline is one line.
std::string with_short_names(std::string message) {
  std::string result;
  std::size_t at = 0;
  for (std::size_t open = message.find('`'); open != std::string::npos; open = message.find('`', at)) {
    std::size_t close = message.find('`', open + 1);
    if (close == std::string::npos) break;
    result += message.substr(at, open + 1 - at);
    result += shortened(message.substr(open + 1, close - open - 1), kLongestName) + "`";
    at = close + 1;
  }
  return printable_text(result + message.substr(at));
}

}  // namespace

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
  added.message = with_short_names(std::move(message));
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
