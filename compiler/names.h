// Which name was meant: close spellings, and lists of names in messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/diagnostics.h"

namespace rlflow {

// Insertions, deletions, replacements and swaps of neighbours, each bytes counted once.
std::size_t edit_distance(std::string_view a, std::string_view b);

// At most three of the candidates within max(1, a third of the length), closest first.
std::vector<std::string> close_names(std::string_view name, const std::vector<std::string>& candidates);

// "`a`, `b` or `c`"
std::string quoted_list(const std::vector<std::string>& names, std::string_view last_word = "or");

// Adds "did you mean …?" with the edit for what is close or begins so, or what there is where that is at most eight
// names. `what` is the plural of the names: "parameters".
void suggest(Diagnostic& message, std::string_view name, Span span, const std::vector<std::string>& candidates,
             std::string_view what);

// 1024 -> "1,024"
std::string with_commas(std::int64_t number);
// "1 step", "2 steps"
std::string counted(std::int64_t number, std::string_view singular);

}  // namespace rlflow
