// Edits of diagnostics -> new texts.
#include "cli/fixes.h"

#include <algorithm>
#include <vector>

namespace rlflow {
namespace {

bool overlap(const Edit& a, const Edit& b) {
  if (a.span.file != b.span.file) return false;
  if (a.span.begin == b.span.begin) return true;
  return a.span.begin < b.span.end && b.span.begin < a.span.end;
}

bool fits(const Fix& fix, const std::vector<Edit>& accepted, const SourceMap& sources) {
  for (const Edit& edit : fix.edits) {
    if (!edit.span.valid() || sources.is_command_line(edit.span.file)) return false;
    for (const Edit& other : accepted) {
      if (overlap(edit, other)) return false;
    }
  }
  return !fix.edits.empty();
}

}  // namespace

FixedFiles apply_safe_fixes(const Analysis& analysis) {
  FixedFiles result;
  std::vector<Edit> accepted;
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    for (const Fix& fix : diagnostic.fixes) {
      if (fix.applicability != Applicability::safe || !fits(fix, accepted, analysis.sources)) continue;
      accepted.insert(accepted.end(), fix.edits.begin(), fix.edits.end());
      ++result.applied;
      break;  // one cure is enough
    }
  }
  // From the end of each file, so that the places of edits still to come stay true.
  std::sort(accepted.begin(), accepted.end(), [](const Edit& a, const Edit& b) { return a.span.begin > b.span.begin; });
  for (const Edit& edit : accepted) {
    const SourceFile& file = analysis.sources.file(edit.span.file);
    auto text = result.texts.try_emplace(file.path, file.text).first;
    text->second.replace(edit.span.begin, edit.span.end - edit.span.begin, edit.text);
  }
  return result;
}

}  // namespace rlflow
