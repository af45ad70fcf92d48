// How a few named numbers are written as one JSON object, and read back.
#include "nodes/format/number_record.h"

#include <cmath>
#include <limits>
#include <optional>

#include "nodes/format/json.h"
#include "runtime/contract/attributes.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr const char* kFormatKey = "format";

std::string number_text(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  std::string text = double_text(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";  // "-0" would lose its sign
  return text;
}
std::string number_text(std::int64_t value) { return std::to_string(value); }

std::optional<double> not_finite(const std::string& text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::variant<std::int64_t, double> read_number(const std::string& place, const nlohmann::json& value) {
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) {
    if (std::optional<double> number = not_finite(value.get<std::string>())) return *number;
  }
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
  if (!fits) throw FormatError(place + " is not a number: " + value.dump());
  return value.get<std::int64_t>();
}

}  // namespace

std::string NumberRecord::text() const {
  RLFLOW_CHECK(!numbers.contains(kFormatKey), "a number called format");
  std::string text = "{\"format\":" + json_quoted(format);
  for (const auto& [name, number] : numbers) {
    text += "," + json_quoted(name) + ":";
    text += std::visit([](auto value) { return number_text(value); }, number);
  }
  return text + "}";
}

std::int64_t NumberRecord::whole_at(const std::string& name) const {
  auto found = numbers.find(name);
  const std::int64_t* value = found == numbers.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  if (!value) throw FormatError(format + ": has no whole number " + json_quoted(name));
  return *value;
}

double NumberRecord::real_at(const std::string& name) const {
  auto found = numbers.find(name);
  const double* value = found == numbers.end() ? nullptr : std::get_if<double>(&found->second);
  if (!value) throw FormatError(format + ": has no real number " + json_quoted(name));
  return *value;
}

NumberRecord parse_number_record(std::span<const std::byte> bytes, std::string_view format) {
  const std::string what(format);
  nlohmann::json json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, what);
  if (!json.is_object() || !json.contains(kFormatKey)) throw FormatError(what + ": is not an object with a format");
  if (json[kFormatKey] != what) throw FormatError("expected " + what + ", the bytes are " + json[kFormatKey].dump());
  NumberRecord record;
  record.format = what;
  for (const auto& [name, value] : json.items()) {
    if (name != kFormatKey) record.numbers[name] = read_number(what + ": " + json_quoted(name), value);
  }
  return record;
}

}  // namespace rlflow
