// Every code a message can have, with what `rlflow explain` says about it.
#pragma once

#include <span>
#include <string_view>

namespace rlflow {

// The examples show only the lines that matter. A statement or declaration of an example stands for the
// one of the same name in pipelines/tiny_grpo.rlflow; a line that begins with `-s` is typed on the command
// line; `# without sync` leaves the line of that name out.
struct CodeInfo {
  std::string_view code;      // "E0301"
  std::string_view lint;      // the name for -W and allow(…); empty for errors
  std::string_view headline;  // its pattern, e.g. "`OP` needs a KIND, but `NAME` is KIND"
  std::string_view text;      // what it means and what to do
  std::string_view wrong;     // an example that gives it; empty where only the surroundings can (a missing file)
  std::string_view right;     // the example, mended
};

// Sorted by code.
std::span<const CodeInfo> diagnostic_codes();
const CodeInfo* find_code(std::string_view code);       // null if there is none
const CodeInfo* find_lint(std::string_view lint_name);  // null if there is none

}  // namespace rlflow
