// Joins the tables of codes_*.cc and looks codes up.
#include "compiler/diagnostic_codes.h"

#include <vector>

#include "compiler/code_tables.h"

namespace rlflow {

std::span<const CodeInfo> diagnostic_codes() {
  static const std::vector<CodeInfo> kAll = [] {
    std::vector<CodeInfo> all;
    for (std::span<const CodeInfo> part :
         {syntax_codes(), name_codes(), type_codes(), version_codes(), placement_codes(), file_codes(), lint_codes()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kAll;
}

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

}  // namespace rlflow
