// How rows of sums are drawn and answered.
#include "nodes/data/addition.h"

#include "nodes/data/placeholders.h"
#include "nodes/format/format_error.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// The digits of a number from the last one.
std::string reversed_digits(std::uint64_t number) {
  const std::string text = std::to_string(number);
  return {text.rbegin(), text.rend()};
}

std::uint64_t power_of_ten(std::int64_t exponent) {
  std::uint64_t power = 1;
  for (std::int64_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace

bool held_out(std::uint64_t a, std::uint64_t b) { return mix64(mix64(a + 0x9e3779b97f4a7c15ULL) + b) % 10 == 0; }

std::string worked_response(std::uint64_t a, std::uint64_t b) {
  const std::string left = reversed_digits(a);
  const std::string right = reversed_digits(b);
  std::string columns;
  int carry = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const int sum = (left[i] - '0') + (right[i] - '0') + carry;
    columns += (i > 0 ? " " : "") + std::string(1, left[i]) + "+" + right[i] + (carry > 0 ? "+1" : "") + "=" +
               std::to_string(sum);
    carry = sum / 10;
  }
  return "<" + columns + ">" + std::to_string(a + b);
}

std::string hasty_response(std::uint64_t a, std::uint64_t b, double forget, PhiloxStream& stream) {
  const std::string left = reversed_digits(a);
  const std::string right = reversed_digits(b);
  std::string digits;
  int carry = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const int sum = (left[i] - '0') + (right[i] - '0') + carry;
    digits += static_cast<char>('0' + sum % 10);
    carry = sum / 10;
    if (carry > 0 && stream.uniform() < forget) carry = 0;
  }
  if (carry > 0) digits += '1';
  return {digits.rbegin(), digits.rend()};
}

Addition::Addition(AdditionSettings settings) : settings_(settings) {
  RLFLOW_CHECK(1 <= settings.min_digits && settings.min_digits <= settings.max_digits && settings.max_digits <= 9,
               std::to_string(settings.min_digits) + ".." + std::to_string(settings.max_digits) + " digits");
}

DataRow Addition::row(std::int64_t index) const {
  const auto i = static_cast<std::uint64_t>(index);
  PhiloxStream stream(h64(RandomPurpose::data_row, {settings_.seed, settings_.test ? 1u : 0u, i}));
  const auto lengths = static_cast<std::uint64_t>(settings_.max_digits - settings_.min_digits + 1);
  const std::int64_t digits = settings_.min_digits + static_cast<std::int64_t>(stream.below(lengths));
  const std::uint64_t lowest = power_of_ten(digits - 1);
  std::uint64_t a = 0, b = 0;
  do {
    a = lowest + stream.below(9 * lowest);
    b = lowest + stream.below(9 * lowest);
  } while (held_out(a, b) != settings_.test);
  DataRow row;
  const auto number = [&](const std::string& name) {
    if (name != "a" && name != "b") throw FormatError("a sum has the fields a and b, not {" + name + "}");
    return std::to_string(name == "a" ? a : b);
  };
  row.prompt = filled(settings_.question, number);
  row.prefill = filled(settings_.prefill, number);
  row.answer = std::to_string(a + b);
  const bool worked = stream.uniform() < settings_.worked;
  row.response = worked ? worked_response(a, b) : hasty_response(a, b, settings_.forget_carry, stream);
  return row;
}

}  // namespace rlflow
