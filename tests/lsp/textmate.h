// Colours a text as editors do with a TextMate grammar: a small reading of that format, for tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rlflow::testing {

// The innermost scope of each byte of the text; empty where the grammar says nothing. The grammar may use `match` with
// captures, `begin`/`end`, `include` and no more, and only regular expressions that ECMAScript and Oniguruma read
// alike.
std::vector<std::string> scopes_of(const std::string& text, const nlohmann::json& grammar);

}  // namespace rlflow::testing
