// What differs between two texts, line by line, in the form that `patch` reads?
#pragma once

#include <string>

namespace rlflow {

// Empty for equal texts. Three lines of context; the headers name both sides.
std::string unified_diff(const std::string& before, const std::string& after, const std::string& before_name,
                         const std::string& after_name);

}  // namespace rlflow
