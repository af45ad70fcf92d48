// How does a verb print its one JSON object?
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace rlflow {

// To the standard output, indented. Bytes that are not UTF-8 become replacement characters.
void print_json(const nlohmann::json& object);

// A number, or "nan", "inf" and "-inf", which JSON cannot write as numbers.
nlohmann::json number_json(double value);

}  // namespace rlflow
