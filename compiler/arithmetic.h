// Operators on constant values.
#pragma once

#include <optional>
#include <string>

#include "runtime/contract/attributes.h"

namespace rlflow {

struct Computed {
  std::optional<Value> value;
  std::string fault;  // why there is none
};

// `+ - * / %`, comparisons, `and`, `or` on operands of fitting types. Whole numbers stay whole where the
// result is; quantities keep their unit.
Computed apply(const std::string& op, const Value& a, const Value& b);
Computed negate(const Value& value);

// "5s" -> 5000 ms. `real` for fractions, which must come out whole.
Computed with_unit(double number, const std::string& unit);

// "a whole number", "a duration": what a value is, for messages.
std::string kind_of(const Value& value);
std::string unit_words(Unit unit);  // "tokens", "a duration"

}  // namespace rlflow
