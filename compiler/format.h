// How a program should look: `rlflow fmt`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlflow {

// The same program with canonical white space. nullopt where the text has syntax errors: those are
// reported by `analyze`, and a text that cannot be read is not touched. Idempotent.
std::optional<std::string> format_source(std::string_view text);

}  // namespace rlflow
