// The tables that diagnostic_codes() joins, one a family of codes, each sorted.
#pragma once

#include <span>

#include "compiler/diagnostic_codes.h"

namespace rlflow {

std::span<const CodeInfo> syntax_codes();     // E01
std::span<const CodeInfo> name_codes();       // E02
std::span<const CodeInfo> type_codes();       // E03
std::span<const CodeInfo> version_codes();    // E04
std::span<const CodeInfo> placement_codes();  // E05
std::span<const CodeInfo> file_codes();       // E06
std::span<const CodeInfo> lint_codes();       // W07

}  // namespace rlflow
