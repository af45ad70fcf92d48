// Looks codes up in the tables of codes_*.cc.
#include "compiler/diagnostic_codes.h"

#include <algorithm>

namespace rlflow {

const CodeInfo* find_code(std::string_view code) {
  for (const CodeInfo& info : diagnostic_codes()) {
    if (info.code == code) return &info;
  }
  return nullptr;
}

const CodeInfo* find_lint(std::string_view lint_name) {
  for (const CodeInfo& info : diagnostic_codes()) {
    if (!info.lint.empty() && info.lint == lint_name) return &info;
  }
  return nullptr;
}

std::span<const CodeInfo> diagnostic_codes() {
  static constexpr CodeInfo kCodes[] = {
      {"E0101", "", "", "", "", ""},
  };
  return kCodes;
}

}  // namespace rlflow
