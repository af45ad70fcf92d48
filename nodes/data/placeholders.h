// Texts of a program with fields of a row in them: "{a} + {b} = ".
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rlflow {

// `text` with each {name} replaced by what `field` gives for the name; {{ and }} are braces. Throws FormatError for a
// brace that is neither; `field` throws for a name that it does not know.
std::string filled(std::string_view text, const std::function<std::string(const std::string& name)>& field);

}  // namespace rlflow
