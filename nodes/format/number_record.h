// How a few named numbers are written as one JSON object, and read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "nodes/format/format_error.h"

namespace rlflow {

// {"format":"rlflow.cursor/1","epoch":0,"offset":96}: whole numbers without a point, others with one or with an
// exponent, what is not finite as "NaN", "Infinity" or "-Infinity". Equal records have equal text.
struct NumberRecord {
  std::string format;                                                 // name and version
  std::map<std::string, std::variant<std::int64_t, double>> numbers;  // none may be called "format"

  std::string text() const;

  // Throw FormatError where the number is absent or no number of this type.
  std::int64_t whole_at(const std::string& name) const;
  double real_at(const std::string& name) const;
};

// Throws FormatError naming what is wrong: not such an object, or of another format than `format`.
NumberRecord parse_number_record(std::span<const std::byte> bytes, std::string_view format);

}  // namespace rlflow
