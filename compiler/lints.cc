// Removes allowed warnings and makes denied ones errors.
#include "compiler/lints.h"

#include <algorithm>

#include "compiler/diagnostic_codes.h"

namespace rlflow {
namespace {

bool allowed_above(const Diagnostic& diagnostic, std::string_view lint, const SourceMap& sources) {
  if (!diagnostic.primary.valid()) return false;
  Position place = sources.position(diagnostic.primary.file, diagnostic.primary.begin);
  std::string_view above = sources.line_text(diagnostic.primary.file, place.line - 1);
  std::size_t start = above.find_first_not_of(" \t");
  if (start == std::string_view::npos) return false;
  return above.substr(start).starts_with("# rlflow: allow(" + std::string(lint) + ")");
}

}  // namespace

void apply_lint_levels(const std::map<std::string, LintLevel>& levels, const SourceMap& sources,
                       std::vector<Diagnostic>& list) {
  std::erase_if(list, [&](Diagnostic& diagnostic) {
    const CodeInfo* info = find_code(diagnostic.code);
    if (info == nullptr || info->lint.empty()) return false;
    auto given = levels.find(std::string(info->lint));
    LintLevel level = given == levels.end() ? LintLevel::warn : given->second;
    if (level == LintLevel::allow || allowed_above(diagnostic, info->lint, sources)) return true;
    if (level == LintLevel::deny) diagnostic.level = Level::error;
    return false;
  });
}

}  // namespace rlflow
